"""Serve the demo web: four small sites on 127.0.0.1 to 127.0.0.4, one port for all.

    python demo/serve.py                                    serve on port 8480 until Ctrl-C
    python demo/serve.py --port 0 --delay-ms 50 --log served.tsv
    python demo/serve.py --run scrapy crawl topic -a seeds=demo/seeds/init_url.txt

--run starts the command once the sites listen, with the port in DEMO_PORT and for `{port}` in its arguments, and
ends with its exit code. It takes the rest of the line, so it comes last.

The pages are files under demo/web/<address>/. Not files are the redirects of redirects.tsv, the endless calendar
(a crawler trap) at http://127.0.0.4:8480/calendar/YYYY/MM/, and the port: `:8480` in a page is answered as the port
really served. HTML goes out without a charset, so that the page's own declaration decides.
"""

from __future__ import annotations

import argparse
import calendar
import contextlib
import logging
import os
import re
import signal
import socketserver
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path, PurePosixPath
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

WEB = Path(__file__).resolve().parent / "web"
HOSTS = ("127.0.0.1", "127.0.0.2", "127.0.0.3", "127.0.0.4")
FILE_PORT = 8480  # the port written in the files
CALENDAR_HOST = "127.0.0.4"
CALENDAR_PATH = re.compile(r"/calendar/(\d{4})/(0[1-9]|1[0-2])/")
HTML, TEXT = "text/html", "text/plain"
TYPES = {"": HTML, ".html": HTML, ".shtml": HTML, ".txt": TEXT, ".csv": "text/csv", ".svg": "image/svg+xml"}
NOT_FOUND = b"<!DOCTYPE html>\n<title>Not found</title>\n<p>There is no such page here.</p>\n"
log = logging.getLogger("demo.serve")


class Answer(NamedTuple):
    status: int
    kind: str = HTML
    body: bytes = b""
    location: str = ""


class Site:
    """What one host answers; knows files and rules, not sockets."""

    def __init__(self, host: str, port: int) -> None:
        self.host, self.port = host, port
        self.root = WEB / host
        rows = (row.split("\t") for row in (WEB / "redirects.tsv").read_text(encoding="utf-8").splitlines())
        self.redirects = {path: (int(status), target) for h, path, status, target in rows if h == host}

    def answer(self, path: str) -> Answer:
        if path in self.redirects:
            status, target = self.redirects[path]
            return Answer(status, location=target.replace(f":{FILE_PORT}", f":{self.port}"))
        if self.host == CALENDAR_HOST and (month := CALENDAR_PATH.fullmatch(path)):
            return Answer(200, body=calendar_page(int(month[1]), int(month[2])).encode())
        parts = PurePosixPath(path.lstrip("/") + ("index.html" if path.endswith("/") else ""))
        file = self.root / parts
        if ".." in parts.parts or "\0" in path or not file.is_file():
            return Answer(404, body=NOT_FOUND)
        kind, body = (TYPES.get(file.suffix, "application/octet-stream"), file.read_bytes())
        if kind == HTML:
            body = body.replace(b":%d" % FILE_PORT, b":%d" % self.port)
        return Answer(200, kind, body)


def calendar_page(year: int, month: int) -> str:
    """One month, with links to the one before and the one after; the years go round at 9999, so it never ends."""
    count = year * 12 + month - 1
    before, after = (f"/calendar/{n // 12:04}/{n % 12 + 1:02}/" for n in ((count - 1) % 120_000, (count + 1) % 120_000))
    weeks = calendar.Calendar().monthdayscalendar(400 + year % 400, month)  # weekdays repeat every 400 years
    rows = "\n".join("<tr>" + "".join(f"<td>{day or ''}" for day in week) for week in weeks)
    title = f"{calendar.month_name[month]} {year}"
    return f"""<!DOCTYPE html>
<html lang="en"><meta charset="utf-8"><title>{title}</title>
<h1>{title}</h1>
<table>
{rows}
</table>
<p>Nothing has been entered for this month.</p>
<p><a href="{before}">Previous month</a> <a href="{after}">Next month</a></p>
"""


class Handler(BaseHTTPRequestHandler):
    server: SiteServer
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # else a kept-alive connection waits 40 ms between head and body
    timeout = 30

    def do_GET(self) -> None:
        path = unquote(urlsplit(self.path).path) or "/"
        time.sleep(self.server.delay)
        answer = self.server.site.answer(path)
        log.info("%s\t%s\t%d", self.server.site.host, self.path, answer.status)
        self.send_response(answer.status)
        if answer.location:
            self.send_header("Location", answer.location)
        self.send_header("Content-Type", answer.kind)
        self.send_header("Content-Length", str(len(answer.body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(answer.body)

    do_HEAD = do_GET  # noqa: N815

    def log_message(self, *args: object) -> None:
        pass  # the log above is the only one


class SiteServer(ThreadingHTTPServer):
    request_queue_size = 128

    def __init__(self, host: str, port: int, delay: float) -> None:
        super().__init__((host, port), Handler)
        self.site, self.delay = Site(host, self.server_address[1]), delay

    def server_bind(self) -> None:
        socketserver.TCPServer.server_bind(self)  # HTTPServer's own would look the address up in DNS

    def handle_error(self, request: object, client_address: object) -> None:
        if not isinstance(sys.exc_info()[1], ConnectionError):  # a client that hangs up is no fault of ours
            super().handle_error(request, client_address)  # type: ignore[arg-type]


def listen(port: int, delay: float) -> list[SiteServer]:
    """One listening server a host, all on one port; port 0 looks for one that is free on all of them."""
    tries_left = 1 if port else 20
    while True:
        servers: list[SiteServer] = []
        try:
            for host in HOSTS:
                servers.append(SiteServer(host, servers[0].site.port if servers else port, delay))
            return servers
        except OSError as error:
            for server in servers:
                server.server_close()
            tries_left -= 1
            if not tries_left:
                hint = "; on macOS first: sudo ifconfig lo0 alias 127.0.0.N" if sys.platform == "darwin" else ""
                raise SystemExit(f"cannot listen on {HOSTS[len(servers)]} port {port}: {error}{hint}") from error


def run(command: list[str], port: int) -> int:
    """Run the command to its end and return its exit code; it never outlives us."""
    command = [word.replace("{port}", str(port)) for word in command]
    process = subprocess.Popen(command, env={**os.environ, "DEMO_PORT": str(port)})
    try:
        while process.returncode is None:
            with contextlib.suppress(KeyboardInterrupt):  # the command got Ctrl-C too and ends in its own time
                process.wait()
    finally:
        if process.poll() is None:
            process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(10)
            process.kill()
            process.wait()
    return process.returncode if process.returncode >= 0 else 128 - process.returncode


def main() -> int:
    parser = argparse.ArgumentParser(description="Serve the demo web on 127.0.0.1 to 127.0.0.4.")
    parser.add_argument("--port", type=int, default=FILE_PORT, help="0 picks a free one (default %(default)s)")
    parser.add_argument("--delay-ms", type=int, default=0, metavar="N", help="wait before each answer")
    parser.add_argument("--log", type=Path, metavar="FILE", help="add a line a request: time, host, path, status")
    parser.add_argument("--run", nargs=argparse.REMAINDER, metavar="CMD", help="serve only while CMD runs")
    options = parser.parse_args()

    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    if options.log:
        logging.Formatter.converter = time.gmtime
        form = "%(asctime)s.%(msecs)03dZ\t%(message)s"
        logging.basicConfig(filename=options.log, level=logging.INFO, format=form, datefmt="%Y-%m-%dT%H:%M:%S")
    servers = listen(options.port, options.delay_ms / 1000)
    for server in servers:
        threading.Thread(target=server.serve_forever, daemon=True).start()
    port = servers[0].site.port
    out = sys.stderr if options.run else sys.stdout  # with --run, stdout is the command's own
    print("serving", *(f"http://{host}:{port}/" for host in HOSTS), file=out, flush=True)
    if options.run:
        return run(options.run, port)
    with contextlib.suppress(KeyboardInterrupt):
        threading.Event().wait()
    return 0


if __name__ == "__main__":
    sys.exit(main())
