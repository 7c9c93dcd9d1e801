"""What the tests share: a real server for all of them, and scripted ones for each."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest
import pytest_asyncio
from hypothesis import settings
from scripted import Scripted, scripted
from served import ENVS, Served, served

# A busy machine is no failure.
settings.register_profile("trailgym", deadline=None)
settings.load_profile("trailgym")


@pytest.fixture(scope="session")
def real() -> Iterator[Served]:
    """countdown-v1, code-gym-v1 and the environments of `envs/`."""
    # Interpreters start slowly on a busy machine, which is no failure either.
    with served("--port", "0", "--memory", "--step-timeout-ms", "150000", "--envs", str(ENVS)) as server:
        yield server


@pytest_asyncio.fixture
async def server() -> AsyncIterator[Scripted]:
    async with scripted() as given:
        yield given
