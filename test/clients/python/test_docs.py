"""What the README shows is run, the examples say what they promise, and the package holds what it should."""

from __future__ import annotations

import re
import runpy
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest
import tomllib
from served import ROOT, Served

import trailgym
import trailgym.gym

CLIENT = ROOT / "clients/python"
README = (CLIENT / "README.md").read_text()
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
URL = "ws://127.0.0.1:7474/rpc"

PYTHON = [text for language, text in BLOCKS if language == "python"]
SAYS = [
    "{'remaining': 2} 0.0 False False {}",
    "[6, 5, 4, 6, 5, 4, 6, 5]",
    "0.0 {'remaining': 4} 64",
    "['countdown-v1'] False\namount 1",
    None,
    "Dict('amount': Discrete(3, start=1)) {'remaining': array(",
    "64.0 {'remaining': array(0)} [3 3 3]",
]


def test_every_block_is_python_or_the_installation() -> None:
    assert [language for language, _ in BLOCKS] == ["sh", *["python"] * len(SAYS)]


@pytest.mark.parametrize(("block", "says"), list(zip(PYTHON, SAYS, strict=True)))
def test_a_block_of_the_readme_runs_and_prints_what_it_should(
    real: Served, capsys: pytest.CaptureFixture[str], block: str, says: str | None
) -> None:
    assert URL in block
    exec(compile(block.replace(URL, real.url), "README.md", "exec"), {"__name__": "__main__"})
    printed = capsys.readouterr().out.strip()
    assert printed if says is None else printed.startswith(says)


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("episode", r"always 3 from there: \{'remaining': 0\}, reward 1\.0"),
        ("parallel", r"64 episodes, mean return 0\.\d\d\n\d+ steps, \d+ a second"),
        ("tools", r"is an error: True, the episode goes on: True\n(.*\n)+.* says .*; 2 calls so far"),
        ("learn", r"wins (0\.9\d|1\.00) of"),
    ],
)
def test_an_example_runs_from_the_command_line(
    real: Served, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], name: str, says: str
) -> None:
    path = CLIENT / "examples" / f"{name}.py"
    assert len(path.read_text().splitlines()) <= 60
    monkeypatch.setattr(sys, "argv", [str(path), real.url])
    runpy.run_path(str(path), run_name="__main__")
    assert re.search(says, capsys.readouterr().out)


def test_there_is_no_example_that_is_not_run() -> None:
    assert {path.stem for path in (CLIENT / "examples").glob("*.py")} == {"episode", "parallel", "tools", "learn"}


def test_the_benchmark_runs(real: Served, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "argv", ["steps.py", real.url, "0.05"])
    runpy.run_path(str(CLIENT / "benchmarks/steps.py"), run_name="__main__")
    assert len(re.findall(r"\d+ steps/s", capsys.readouterr().out)) >= 6


def project() -> dict[str, Any]:
    parsed: dict[str, Any] = tomllib.loads((CLIENT / "pyproject.toml").read_text())["project"]
    return parsed


def test_the_version_is_that_of_the_project() -> None:
    assert trailgym.__version__ == project()["version"]


def test_it_depends_on_websockets_and_pydantic_only() -> None:
    assert sorted(re.match(r"\w+", one)[0] for one in project()["dependencies"]) == ["pydantic", "websockets"]  # type: ignore[index]


def test_the_package_is_built_with_its_types_and_without_its_tests(tmp_path: Path) -> None:
    options = ["--no-deps", "--no-build-isolation", "--no-index", "--quiet", "--wheel-dir", str(tmp_path)]
    subprocess.run([sys.executable, "-m", "pip", "wheel", *options, str(CLIENT)], check=True, timeout=120)
    [wheel] = tmp_path.glob("trailgym-*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert {"trailgym/py.typed", "trailgym/wire.py", "trailgym/gym/env.py"} <= set(names)
    assert {name.split("/")[0] for name in names} == {"trailgym", wheel.name.split("-py3")[0] + ".dist-info"}


def test_the_client_imports_without_numpy_and_gymnasium() -> None:
    text = "import sys; sys.modules.update(numpy=None, gymnasium=None, uvloop=None); import trailgym; trailgym.connect"
    subprocess.run([sys.executable, "-c", text], check=True, cwd=CLIENT, timeout=60)
