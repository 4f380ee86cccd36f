"""Fixtures that several folders share: the recorded web, where it lies beside the checkout."""

import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest

RECORDED = Path(__file__).parents[2] / "shared" / "web"


class RecordedWeb(NamedTuple):
    folder: Path

    @contextmanager
    def played(self, *options: str) -> Iterator[int]:
        """Serve it as a proxy on loopback; gives the port."""
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        command = [
            sys.executable,
            str(RECORDED / "serve.py"),
            "--root",
            str(self.folder),
            "--port",
            str(port),
            *options,
        ]
        server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        try:
            assert "playing" in server.stdout.readline()
            yield port
        finally:
            server.terminate()
            server.wait(10)


@pytest.fixture(scope="session")
def recorded() -> RecordedWeb:
    if not (RECORDED / "unpack.sh").is_file():
        pytest.skip("the recorded web is not beside this checkout")
    unpacked = subprocess.run(["bash", str(RECORDED / "unpack.sh")], capture_output=True, text=True)
    if unpacked.returncode:
        pytest.skip(f"the recorded web can't be unpacked: {unpacked.stderr.strip()}")
    return RecordedWeb(Path(unpacked.stdout.strip()))
