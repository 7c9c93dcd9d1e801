"""Recorded sessions of fixtures/sessions (its README has the format) and bad frames of fixtures/rejections."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

FIXTURES = Path(__file__).resolve().parents[3] / "fixtures"


def recordings() -> dict[str, dict[str, Any]]:
    return _files("sessions")


def rejections() -> list[dict[str, Any]]:
    """Every case of every file, with the file in its name."""
    files = _files("rejections").items()
    return [{**case, "name": f"{file}: {case['name']}"} for file, content in files for case in content["cases"]]


def _files(folder: str) -> dict[str, dict[str, Any]]:
    return {path.stem: json.loads(path.read_text()) for path in sorted((FIXTURES / folder).glob("*.json"))}
