"""A Page as Scrapy's own feeds see it (`-O pages.jsonl`): plain fields, without bytes."""

from __future__ import annotations

from collections.abc import Iterator, KeysView
from typing import Any

from itemadapter import ItemAdapter
from itemadapter.adapter import AdapterInterface

from topiccrawl.records import MAX_SIM, Page

FIELDS = (
    *("url", "final_url", "status", "type", "charset", "fetched_at", "sha256", "title", "keywords", "summary"),
    *("language", "text", "depth", "sim", "relevance", "relevant", "links"),
)


class PageAdapter(AdapterInterface):
    """Reads a Page like a dict of FIELDS and of what a user's spider put into `extra`."""

    item: Page

    @classmethod
    def is_item_class(cls, item_class: type) -> bool:
        return issubclass(item_class, Page)

    def __getitem__(self, name: str) -> Any:
        page = self.item
        if name in page.extra:
            return page.extra[name]
        if name == "links":
            return [link.link.url for link in page.links]
        if name == "sim":
            return page.sim / MAX_SIM
        if name not in FIELDS:
            raise KeyError(name)
        return getattr(page.document if hasattr(page.document, name) else page, name)

    def __setitem__(self, name: str, value: Any) -> None:
        self.item.extra[name] = value

    def __delitem__(self, name: str) -> None:
        del self.item.extra[name]

    def __iter__(self) -> Iterator[str]:
        return iter((*FIELDS, *(name for name in self.item.extra if name not in FIELDS)))

    def __len__(self) -> int:
        return len(list(iter(self)))

    def field_names(self) -> KeysView[str]:
        return dict.fromkeys(self).keys()


def register() -> None:
    """Let Scrapy's exporters know Pages."""
    if PageAdapter not in ItemAdapter.ADAPTER_CLASSES:
        ItemAdapter.ADAPTER_CLASSES = (PageAdapter, *ItemAdapter.ADAPTER_CLASSES)
