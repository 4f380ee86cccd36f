"""A generated web on loopback: several hosts, seeded links, a latency of its own for each, and a log of requests."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import NamedTuple, Self


class Asked(NamedTuple):
    """One request as the server saw it; times by the wall clock, in seconds."""

    host: str
    path: str
    begun: float
    ended: float


class GeneratedWeb:
    """`hosts` addresses 127.0.0.1 ... on one port, `pages` pages each; every page is reachable from /0 of its host."""

    def __init__(self, hosts: int, pages: int, latency: Callable[[str], float] = lambda host: 0.0) -> None:
        self.names = [f"127.0.0.{n + 1}" for n in range(hosts)]
        self.pages = pages
        self.log: list[Asked] = []
        self._latency = latency
        self._lock = threading.Lock()
        first = self._server(self.names[0], 0)
        self.port = first.server_port
        self._servers = [first, *(self._server(name, self.port) for name in self.names[1:])]
        self.seeds = [f"http://{name}:{self.port}/0" for name in self.names]

    def __enter__(self) -> Self:
        for server in self._servers:
            threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        return self

    def __exit__(self, *details: object) -> None:
        for server in self._servers:
            server.shutdown()
            server.server_close()

    def urls(self) -> set[str]:
        return {f"http://{name}:{self.port}/{n}" for name in self.names for n in range(self.pages)}

    def body(self, host: str, number: int) -> bytes:
        rng = random.Random(f"{host}/{number}")
        children = [n for n in (2 * number + 1, 2 * number + 2) if n < self.pages]
        others = [rng.randrange(self.pages) for _ in range(5)]
        away = f"http://{rng.choice(self.names)}:{self.port}/{rng.randrange(self.pages)}"
        links = [f'<li><a href="/{n}">{rng.choice(("comet", "kettle"))} {n}</a>' for n in (*children, *others)]
        return f"<title>Page {number} of {host}</title><ul>{''.join(links)}<li><a href='{away}'>orbit</a></ul>".encode()

    def _server(self, name: str, port: int) -> ThreadingHTTPServer:
        web = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                begun = time.time()
                time.sleep(web._latency(name))
                path = self.path
                found = path[1:].isdigit() and int(path[1:]) < web.pages
                body = web.body(name, int(path[1:])) if found else b"no such page"
                with web._lock:
                    web.log.append(Asked(name, path, begun, time.time()))
                self.send_response(200 if found else 404)
                self.send_header("Content-Type", "text/html; charset=utf-8")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *args: object) -> None:
                pass

        class Server(ThreadingHTTPServer):
            request_queue_size = 256

            def handle_error(self, *args: object) -> None:
                """A client that was killed is no news."""

        return Server((name, port), Handler)
