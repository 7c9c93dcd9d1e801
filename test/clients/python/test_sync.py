"""The client for blocking code: threads, forks, Ctrl-C, and the end of the program."""

from __future__ import annotations

import asyncio
import gc
import os
import pickle
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from served import ROOT, Served

import trailgym
from trailgym import Client, LateCommit, Progress, SessionBusy, WireError, WrongLoop, WrongProcess, connect
from trailgym.sync.portal import _Errand


@pytest.fixture
def client(real: Served) -> Iterator[Client]:
    with connect(real.url) as client:
        yield client


def sessions(client: Client) -> set[str]:
    return {one.session for one in client.call("session/list", {"limit": 1000}).sessions}


def program(text: str, *arguments: str) -> subprocess.Popen[str]:
    """A Python program of its own that uses the client."""
    paths = [str(ROOT / "clients/python"), *os.environ.get("PYTHONPATH", "").split(os.pathsep)]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    command = [sys.executable, "-W", "error", "-c", textwrap.dedent(text), *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env)


def test_every_verb_works_from_blocking_code(client: Client) -> None:
    assert "countdown-v1" in [entry.id for entry in client.list()]
    assert len(list(client.tasks("code-gym-v1", limit=3))) == 3
    assert list(client.tasks("countdown-v1")) == []
    with client.make("countdown-v1", options={"start": 9}) as session:
        assert session.env == "countdown-v1"
        assert session.reset(seed=1).observation == {"remaining": 9}
        assert session.step({"amount": 2}).observation == {"remaining": 7}
        assert session.observe().index == 1
        snapshot = session.snapshot("seven")
        fork, other = session.fork(2)
        assert client.fork(snapshot, 1)[0].step({"amount": 1}).observation == {"remaining": 6}
        assert client.fork(session, 1)[0].observe().observation == {"remaining": 7}
        together = client.vector_of([fork, other])
        assert together.step([{"amount": 1}, {"amount": 3}]).observations == [{"remaining": 6}, {"remaining": 4}]
        session.step({"amount": 1})
        assert session.restore(snapshot).observation == {"remaining": 7}
        assert session.resync().seq == session.seq == 4
        attached = client.attach(session.id)
        assert (attached.seq, attached.env, attached.id) == (4, None, session.id)
        attached.detach()
        assert repr(session) == f"<Session {session.id} of countdown-v1, seq 4>"
    with client.vector("countdown-v1", 3) as vector:
        assert vector.reset(seed=1).seeds == [1, 2, 3]
        assert len(vector) == 3
    with pytest.raises(trailgym.ClosedError):
        session.step({"amount": 1})


def test_many_threads_share_one_client(client: Client) -> None:
    def play(start: int) -> int:
        with client.make("countdown-v1", options={"start": start}) as session:
            session.reset(seed=1)
            return sum(session.step({"amount": 1}).index for _ in range(start))

    with ThreadPoolExecutor(16) as threads:
        assert list(threads.map(play, range(10, 42))) == [n * (n + 1) // 2 for n in range(10, 42)]


def test_two_threads_that_step_one_session_at_once_are_told(client: Client) -> None:
    with client.make("wait-v1") as session:
        session.reset()
        begun = threading.Event()
        with ThreadPoolExecutor(1) as threads:
            first = threads.submit(session.step, {"ms": 300}, on_progress=lambda _: begun.set())
            assert begun.wait(20)
            with pytest.raises(SessionBusy):
                session.step({"ms": 1})
            assert first.result().observation == {"waited": 300}


async def test_an_async_client_is_told_when_another_loop_or_no_loop_uses_it(real: Served) -> None:
    async with trailgym.connect_async(real.url) as client:
        session = await client.make("countdown-v1")

        def elsewhere() -> None:
            async def use() -> None:
                with pytest.raises(WrongLoop):
                    await session.reset()
                with pytest.raises(WrongLoop):
                    await client.make("countdown-v1")

            asyncio.run(use())
            with pytest.raises(WrongLoop):
                session.reset().send(None)

        await asyncio.to_thread(elsewhere)
        await session.reset()


async def test_the_sync_client_works_inside_of_a_running_loop(real: Served) -> None:
    with connect(real.url) as client, client.make("countdown-v1") as session:
        assert session.reset(seed=1).index == 0


def test_a_listener_that_calls_its_own_client_is_told_instead_of_waiting_for_itself(client: Client) -> None:
    heard: list[type[BaseException]] = []
    with client.make("wait-v1") as session:

        def careless(_progress: Progress) -> None:
            try:
                session.observe()
            except trailgym.ClientError as error:
                heard.append(type(error))

        session.reset()
        session.step({"ms": 10}, on_progress=careless)
    assert heard == [WrongLoop]


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_process_is_told_to_connect_for_itself_and_the_parent_goes_on(real: Served, client: Client) -> None:
    with client.make("countdown-v1") as session:
        session.reset(seed=1)
        child = os.fork()
        if child == 0:
            try:
                session.step({"amount": 1})
            except WrongProcess:
                with connect(real.url) as own:
                    os._exit(0 if own.list() else 2)
            os._exit(1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert session.step({"amount": 1}).index == 1


def test_ctrl_c_ends_a_step_at_the_server_too(client: Client) -> None:
    with client.make("wait-v1") as session:
        session.reset()
        main = threading.main_thread().ident
        assert main

        def interrupt(_progress: Progress) -> None:
            signal.pthread_kill(main, signal.SIGINT)

        started = time.monotonic()
        with pytest.raises(KeyboardInterrupt):
            session.step({"ms": 60_000}, on_progress=interrupt)
        assert session.step({"ms": 1}).observation == {"waited": 1}
        assert time.monotonic() - started < 30


def test_a_result_that_comes_with_ctrl_c_is_told_by_the_next_step(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    with client.make("countdown-v1") as session:
        session.reset(seed=1)
        errand = _Errand
        start = errand.start

        def interrupting(self: Any) -> None:
            start(self)
            assert self.task
            self.task.add_done_callback(lambda _: None)

        class Interrupted:
            """Stands for a lock on which Ctrl-C arrives right after it was taken."""

            def __init__(self, lock: Any) -> None:
                self._lock = lock

            def acquire(self) -> None:
                self._lock.acquire()
                raise KeyboardInterrupt

            def release(self) -> None:
                self._lock.release()

        make = errand.__init__

        def made(self: Any, *given: Any) -> None:
            make(self, *given)
            self.ended = Interrupted(self.ended)

        with monkeypatch.context() as patched:
            patched.setattr(errand, "__init__", made)
            patched.setattr(errand, "start", interrupting)
            with pytest.raises(KeyboardInterrupt):
                session.step({"amount": 1})
        with pytest.raises(LateCommit) as late:
            session.step({"amount": 1})
        assert late.value.result.observation == {"remaining": 4}
        assert session.step({"amount": 1}).observation == {"remaining": 3}


def test_a_client_that_is_forgotten_closes_its_sessions_and_its_thread(real: Served, client: Client) -> None:
    before, threads = sessions(client), threading.active_count()
    forgotten = connect(real.url)
    session = forgotten.make("countdown-v1")
    del forgotten
    gc.collect()
    # A session keeps the connection that it needs.
    assert session.reset(seed=1).index == 0
    assert sessions(client) - before == {session.id}
    del session
    gc.collect()
    assert sessions(client) <= before
    assert threading.active_count() == threads


def test_a_program_that_closes_nothing_ends_at_once_and_leaves_no_session(real: Served, client: Client) -> None:
    before = sessions(client)
    text = """
        import sys, trailgym
        client = trailgym.connect(sys.argv[1])
        vector = client.vector("countdown-v1", 3)
        print(*[session.id for session in vector.sessions])
    """
    with program(text, real.url) as run:
        out, err = run.communicate(timeout=50)
    assert (run.returncode, err) == (0, "")
    assert len(out.split()) == 3
    assert sessions(client) <= before


def test_ctrl_c_ends_an_async_program_with_its_step_and_its_sessions(real: Served, client: Client) -> None:
    before = sessions(client)
    text = """
        import asyncio, sys, trailgym

        async def main():
            async with trailgym.connect_async(sys.argv[1]) as client:
                session = await client.make("wait-v1")
                await session.reset()
                await session.step({"ms": 60_000}, on_progress=lambda _: print("begun", flush=True))

        asyncio.run(main())
    """
    with program(text, real.url) as run:
        assert run.stdout
        assert run.stdout.readline() == "begun\n"
        run.send_signal(signal.SIGINT)
        _, err = run.communicate(timeout=50)
    assert err.rstrip().endswith("KeyboardInterrupt")
    assert sessions(client) <= before


def test_errors_survive_a_pickle(client: Client) -> None:
    with pytest.raises(WireError) as caught:
        client.make("countdwn-v1")
    errors = [
        caught.value,
        LateCommit("env/step", {"a": 1}),
        trailgym.ProtocolViolation("problem", {"a": 1}),
        trailgym.RequestTooLarge("env/step", 5, 4),
        trailgym.ConnectionLost("gone"),
        trailgym.CodecError("a.b", "no"),
    ]
    for error in errors:
        again = pickle.loads(pickle.dumps(error))
        assert type(again) is type(error)
        assert (str(again), again.__dict__) == (str(error), error.__dict__)


def test_a_server_that_goes_away_ends_the_calls_and_closing_needs_no_server(tmp_path: Path) -> None:
    few = trailgym.Reconnect(min_delay_ms=1, max_delay_ms=5, max_attempts=3)
    server = Served("--port", "0", "--memory")
    with connect(server.url, reconnect=few) as client, client.make("countdown-v1") as session:
        session.reset(seed=1)
        server.kill()
        with pytest.raises(trailgym.ConnectionLost):
            session.step({"amount": 1})
        with pytest.raises(trailgym.ClosedError):
            client.list()
