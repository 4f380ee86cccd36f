"""A small real web that misbehaves on purpose: HTTP(S) servers and a logging proxy on loopback, on raw sockets.

    with Server({"/": page("apple"), "/gone": Reply(410), "/r": redirect("/x")}) as site:
        site.url("/"), site.log

What answers a path is a `Reply`, a str (a whole HTML page), a callable that is given the `Asked` and returns one of
these, or a list of them, one for each request in turn (the last one repeats). Connections are closed after each
answer, so what goes over the wire is exactly what the Reply says. Every server ends with its `with` block.
"""

from __future__ import annotations

import contextlib
import datetime
import select
import socket
import ssl
import struct
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Any, Self

import trustme

HTML = "text/html; charset=utf-8"
MAX_REQUEST = 1 << 20  # bytes
PATIENCE = 60.0  # seconds after which a hanging answer gives up by itself


@dataclass(slots=True)
class Asked:
    """One request as it came in, and when its answer ended."""

    at: float  # time.monotonic() when the connection was accepted
    host: str  # the address of the server that was asked
    method: str
    path: str  # as sent, with query
    headers: dict[str, str]  # names in lower case
    body: bytes
    number: int  # 1 for the first request for this path
    ended: float | None = None


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer: status, headers and body, or a way to fail."""

    status: int = 200
    body: bytes | str = b""
    type: str | None = HTML  # None: no Content-Type
    headers: tuple[tuple[str, str], ...] = ()
    length: int | None = None  # another Content-Length than the body's; -1: none is sent
    pause: float = 0.0  # seconds before the answer
    act: str = "answer"  # or "hang": say nothing until the other side goes; "reset": RST; "close": FIN without a byte


Answer = Any  # Reply | str | Callable[[Asked], Answer] | list[Answer]
Routes = dict[str, Answer]  # path, with query -> answer


def page(*links: str | tuple[str, str], title: str = "A page", head: str = "", text: str = "Some words.") -> Reply:
    """An HTML page; a link is a URL, or a URL and its text. A link without text of its own is "apple"."""
    pairs = [(link, "apple") if isinstance(link, str) else link for link in links]
    items = "".join(f'<li><a href="{escape(url)}">{escape(words)}</a></li>\n' for url, words in pairs)
    return Reply(
        body=f"<!DOCTYPE html><html><head><title>{title}</title>{head}</head><body><p>{text}</p><ul>{items}</ul></body>"
    )


def redirect(to: str, status: int = 302, *cookies: str) -> Reply:
    return Reply(status, headers=(("Location", to), *(("Set-Cookie", cookie) for cookie in cookies)))


def hang() -> Reply:
    return Reply(act="hang")


def reset() -> Reply:
    return Reply(act="reset")


def truncated() -> Reply:
    return Reply(body="<html><body>half of it", length=10_000)


class Server:
    """One address, one port, one thread per connection."""

    def __init__(
        self,
        routes: Mapping[str, Answer] | None = None,
        *,
        host: str = "127.0.0.1",
        robots: Answer = None,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self.routes: dict[str, Answer] = dict(routes or {})
        self.robots = Reply(404) if robots is None else robots  # answers /robots.txt; a str is its text
        self.log: list[Asked] = []
        self.host = host
        self._tls = tls
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._threads: list[threading.Thread] = []
        self._listener = socket.create_server((host, 0), backlog=128)
        self.port: int = self._listener.getsockname()[1]
        self._acceptor = threading.Thread(target=self._accept, daemon=True)

    def __enter__(self) -> Self:
        self._acceptor.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._acceptor.join(5)
        self._listener.close()
        for thread in self._threads:
            thread.join(5)

    @property
    def address(self) -> str:
        return f"{self.host}:{self.port}"

    def url(self, path: str = "/") -> str:
        return f"{'https' if self._tls else 'http'}://{self.address}{path}"

    def asked(self, path: str) -> list[Asked]:
        """The requests for a path, in order."""
        with self._lock:
            return [asked for asked in self.log if asked.path == path]

    def wait_for(self, path: str, number: int = 1, timeout: float = 20.0) -> Asked:
        """The nth request for a path, once it has come in."""
        deadline = time.monotonic() + timeout
        while time.monotonic() < deadline:
            if len(found := self.asked(path)) >= number:
                return found[number - 1]
            time.sleep(0.01)
        raise TimeoutError(f"{path} was not asked for {number} times in {timeout} s; asked: {self.log}")

    # ---- connections ----

    def _accept(self) -> None:
        while not self._stop.is_set():
            if not select.select([self._listener], [], [], 0.1)[0]:
                continue
            connection, _ = self._listener.accept()
            thread = threading.Thread(target=self._serve, args=(connection, time.monotonic()), daemon=True)
            self._threads.append(thread)
            thread.start()

    def _serve(self, connection: socket.socket, at: float) -> None:
        with contextlib.suppress(OSError), connection:
            connection.settimeout(PATIENCE)
            if self._tls is None:
                self._talk(connection, at)
            else:
                with self._tls.wrap_socket(connection, server_side=True) as secure:
                    self._talk(secure, at)

    def _talk(self, connection: socket.socket, at: float) -> None:
        asked = read_request(connection, at, self.host)
        if asked is None:
            return
        with self._lock:
            asked.number += sum(1 for earlier in self.log if earlier.path == asked.path)
            self.log.append(asked)
        try:
            self._answer(connection, resolve(self._route(asked), asked))
        finally:
            asked.ended = time.monotonic()

    def _route(self, asked: Asked) -> Answer:
        if asked.path == "/robots.txt":
            return Reply(body=self.robots, type="text/plain") if isinstance(self.robots, str) else self.robots
        return self.routes.get(asked.path, Reply(404, "<p>Not found.</p>"))

    def _answer(self, connection: socket.socket, reply: Reply) -> None:
        if reply.pause:
            self._stop.wait(reply.pause)
        if reply.act == "hang":
            self._wait_for_the_other(connection)
        elif reply.act == "reset":
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        elif reply.act == "answer":
            connection.sendall(wire(reply))
            if reply.length is None:
                finish_sending(connection)

    def _wait_for_the_other(self, connection: socket.socket) -> None:
        deadline = time.monotonic() + PATIENCE
        while not self._stop.is_set() and time.monotonic() < deadline:
            if select.select([connection], [], [], 0.1)[0] and not connection.recv(4096):
                return


def resolve(answer: Answer, asked: Asked) -> Reply:
    """The Reply that an answer comes to for one request."""
    for _ in range(10):
        if isinstance(answer, Reply):
            return answer
        if isinstance(answer, str):
            return Reply(body=answer)
        answer = answer(asked) if callable(answer) else answer[min(asked.number, len(answer)) - 1]
    raise TypeError(f"no answer in {answer!r}")


def wire(reply: Reply) -> bytes:
    """The bytes of an answer."""
    body = reply.body.encode() if isinstance(reply.body, str) else reply.body
    lines = [f"HTTP/1.1 {reply.status} Whatever", "Connection: close"]
    lines += [f"Content-Type: {reply.type}"] if reply.type is not None else []
    length = len(body) if reply.length is None else reply.length
    lines += [f"Content-Length: {length}"] if length >= 0 else []
    lines += [f"{name}: {value}" for name, value in reply.headers]
    return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + body


def finish_sending(connection: socket.socket) -> None:
    """Close after what was sent has arrived: closing with unread input would reset the connection."""
    with contextlib.suppress(OSError):
        connection.shutdown(socket.SHUT_WR)
        connection.settimeout(2)
        while connection.recv(4096):
            pass


def read_request(connection: socket.socket, at: float, host: str) -> Asked | None:
    """The request that comes in; None when the other side went away."""
    data = b""
    while b"\r\n\r\n" not in data:
        part = connection.recv(65536)
        if not part or len(data) > MAX_REQUEST:
            return None
        data += part
    head, _, body = data.partition(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")
    method, path, _ = first.split(" ", 2)
    headers = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    while len(body) < int(headers.get("content-length", 0)):
        part = connection.recv(65536)
        if not part:
            return None
        body += part
    return Asked(at, host, method, path, headers, body, number=1)


@contextlib.contextmanager
def refusing(host: str = "127.0.0.1") -> Iterator[str]:
    """An address:port that refuses connections, and that no one else can be given meanwhile."""
    with socket.socket() as bound:
        bound.bind((host, 0))
        yield f"{host}:{bound.getsockname()[1]}"


# ---- TLS ----


class Authority:
    """A certificate authority for tests; `file` is what SSL_CERT_FILE names."""

    def __init__(self, file: Path) -> None:
        self._ca = trustme.CA()
        self.file = file
        self._ca.cert_pem.write_to_path(str(self.file))

    def server(self, *names: str, expired: bool = False) -> ssl.SSLContext:
        """For servers that have a certificate for `names`."""
        ends = datetime.datetime.now(datetime.UTC) - datetime.timedelta(days=1)
        certificate = self._ca.issue_cert(*names, not_after=ends) if expired else self._ca.issue_cert(*names)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        certificate.configure_cert(context)
        return context


# ---- proxy ----


@dataclass
class Proxy:
    """An HTTP proxy that logs what it is asked and sends all of it to the servers in `to`, by host name.

    `log` holds "GET http://name/path" and "CONNECT name:443".
    """

    to: Mapping[str, tuple[str, int]]  # name or name:port as the client writes it -> address and port
    log: list[str] = field(default_factory=list)

    def __enter__(self) -> Self:
        self._stop = threading.Event()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._threads = [threading.Thread(target=self._accept, daemon=True)]
        self._threads[0].start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join(5)
        self._listener.close()

    @property
    def url(self) -> str:
        return "http://{}:{}".format(*self._listener.getsockname()[:2])

    def _accept(self) -> None:
        while not self._stop.is_set():
            if select.select([self._listener], [], [], 0.1)[0]:
                connection, _ = self._listener.accept()
                thread = threading.Thread(target=self._serve, args=(connection,), daemon=True)
                self._threads.append(thread)
                thread.start()

    def _serve(self, client: socket.socket) -> None:
        with contextlib.suppress(OSError), client:
            client.settimeout(PATIENCE)
            asked = read_request(client, time.monotonic(), "proxy")
            if asked is None:
                return
            self.log.append(f"{asked.method} {asked.path}")
            name, path = asked.path, ""
            if asked.method != "CONNECT":
                name, slash, path = asked.path.removeprefix("http://").partition("/")
                path = slash + path
            if name not in self.to:
                client.sendall(wire(Reply(502)))
                return
            with socket.create_connection(self.to[name], timeout=10) as server:
                if asked.method == "CONNECT":
                    client.sendall(b"HTTP/1.1 200 Connected\r\n\r\n")
                else:
                    lines = [f"{asked.method} {path or '/'} HTTP/1.1", f"host: {name}", "connection: close"]
                    server.sendall("\r\n".join(lines).encode() + b"\r\n\r\n")
                self._join(client, server)

    def _join(self, client: socket.socket, server: socket.socket) -> None:
        while not self._stop.is_set():
            for source in select.select([client, server], [], [], 0.1)[0]:
                data = source.recv(65536)
                if not data:
                    return
                (server if source is client else client).sendall(data)


def http_date(at: float) -> str:
    """Seconds since the epoch, as HTTP writes dates."""
    return datetime.datetime.fromtimestamp(at, datetime.UTC).strftime("%a, %d %b %Y %H:%M:%S GMT")
