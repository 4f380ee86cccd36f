"""Whole crawls of one web, ours and a plain one, in turns."""

import json
import os
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

from tests.bench.store import candidate

ROOT = Path(__file__).parents[2]
RECORDED = ROOT.parent / "shared" / "web"
HOSTS = ("www.sqlite.test", "git-scm.test", "blinkfox.test", "postfix.test", "zsh.test", "csdiy.test")
"""Of the recorded web, closed by `domains`: 1,300 pages, English and Chinese, 37 KB and 80 links on average."""


class Web:
    """A web that is served on loopback, with the seeds and the domains that close it."""

    def __init__(self, name, seeds, domains, topic, env):
        self.name, self.seeds, self.domains, self.topic, self.env = name, seeds, domains, topic, env


@contextmanager
def served():
    """The recorded web where it lies beside the checkout, else the demo web."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    if (RECORDED / "unpack.sh").is_file():
        folder = subprocess.run(["bash", str(RECORDED / "unpack.sh")], capture_output=True, text=True, check=True)
        root = Path(folder.stdout.strip())
        command = [sys.executable, str(RECORDED / "serve.py"), "--root", str(root), "--port", str(port)]
        proxy = f"http://127.0.0.1:{port}"
        web = Web(
            f"recorded web, {len(HOSTS)} hosts",
            [f"http://{host}/" for host in HOSTS],
            HOSTS,
            root / "topics/version-control.txt",
            {"http_proxy": proxy, "https_proxy": proxy},
        )
    else:
        command = [sys.executable, str(ROOT / "demo/serve.py"), "--port", str(port)]
        hosts = [f"127.0.0.{n}" for n in range(1, 4)]  # the fourth has an endless calendar
        web = Web(
            "demo web",
            [f"http://{host}:{port}/" for host in hosts],
            hosts,
            ROOT / "demo/seeds/topic.txt",
            {},
        )
    server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        server.stdout.readline()
        yield web
    finally:
        server.terminate()
        server.wait(10)


def ours(web, folder, meter, *, pages=None, parts=False):
    """A crawl with everything on; m_min 0, so that all of the web is fetched."""
    arguments = [f"seeds={' '.join(web.seeds)}", f"topic={web.topic}", f"domains={','.join(web.domains)}", "m_min=0"]
    arguments += [f"pages={pages}"] if pages else []
    settings = {
        "CRAWL_DIR": folder,
        "DOWNLOAD_DELAY": 0,
        "CONCURRENT_REQUESTS_PER_DOMAIN": 8,
        "LOG_LEVEL": "ERROR",
        "METER_FILE": meter,
        "METER_PARTS": parts,
        "EXTENSIONS": json.dumps({"tests.bench.meter.Meter": 0, "topiccrawl.extensions.Progress": 1}),
    }
    options = [part for argument in arguments for part in ("-a", argument)]
    options += [part for name, value in settings.items() for part in ("-s", f"{name}={value}")]
    return _run(web, meter, ["-m", "scrapy", "crawl", "topic", *options])


def fill(folder, urls):
    """A crawl folder in whose waiting many URLs stand already, on hosts that may not be asked for days."""
    from topiccrawl.database import Database
    from topiccrawl.frontier.sqlite import SqliteFrontier

    folder.mkdir()
    database = Database.create(folder)
    frontier = SqliteFrontier(database)
    for start in range(0, urls, 1000):
        frontier.add([candidate(number) for number in range(start, start + 1000)])
        database.commit()
    database.connection.execute("UPDATE hosts SET next_allowed = ?", (time.time() + 1e6,))
    database.close()
    frontier.close()


def plain(web, folder, meter):
    arguments = [
        f"seeds={' '.join(web.seeds)}",
        f"domains={','.join(web.domains)}",
        f"folder={folder}",
        f"meter={meter}",
    ]
    options = [part for argument in arguments for part in ("-a", argument)]
    return _run(web, meter, ["-m", "scrapy", "runspider", "tests/bench/plain.py", *options], SCRAPY_PROJECT="none")


def _run(web, meter, command, **env):
    """Run it; gives what the meter wrote."""
    clean = {**os.environ, "PYTHONPATH": str(ROOT), **web.env, **env}
    cwd = ROOT if not env else ROOT / "tests"
    command = [part.replace("tests/bench/plain.py", str(ROOT / "tests/bench/plain.py")) for part in command]
    done = subprocess.run([sys.executable, *command], cwd=cwd, env=clean, capture_output=True, text=True)
    if done.returncode or not Path(meter).is_file():
        raise SystemExit(f"a crawl failed:\n{done.stdout}{done.stderr}")
    return json.loads(Path(meter).read_text())
