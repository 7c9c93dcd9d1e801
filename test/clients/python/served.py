"""A real server in a process of its own, which is gone when the test is."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[3]
ENVS = Path(__file__).parent / "envs"


class Served:
    def __init__(self, *arguments: str) -> None:
        own = {name: value for name, value in os.environ.items() if not name.startswith("TRAILGYM_")}
        # Not node: an old system may have an old one.
        command = ["npx", "--no-install", "node", "clients/cli/main.ts", "serve", "--json", *arguments]
        self.process = subprocess.Popen(
            command,
            cwd=ROOT,
            env=own,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        assert self.process.stdout
        assert self.process.stderr
        self._log: list[str] = []
        self._reader = threading.Thread(
            target=lambda pipe: self._log.extend(pipe), args=[self.process.stderr], daemon=True
        )
        self._reader.start()
        line = self.process.stdout.readline()
        if not line:
            self.kill()
            raise RuntimeError(f"the server did not start: {''.join(self._log)}")
        started: dict[str, Any] = json.loads(line)
        self.url: str = started["url"]
        self.instance: str = started["instance"]

    def kill(self) -> None:
        """Without a chance to say goodbye, as `kill -9` does."""
        self._signal(signal.SIGKILL)

    def stop(self) -> None:
        self._signal(signal.SIGTERM)

    def _signal(self, number: int) -> None:
        if self.process.poll() is None:
            os.killpg(self.process.pid, number)
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        self._reader.join(5)
        for pipe in (self.process.stdout, self.process.stderr):
            if pipe is not None:
                pipe.close()


@contextmanager
def served(*arguments: str) -> Iterator[Served]:
    server = Served(*arguments)
    try:
        yield server
    finally:
        server.stop()
