#!/usr/bin/env bash
# Lint, types and tests of the Python client. Arguments go to pytest, such as -k or a file of test/clients/python.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
venv=$("$here/venv.sh")
tests=$here/../../test/clients/python
# Nothing is left in the working tree.
export PYTHONPYCACHEPREFIX=$venv/pycache MYPY_CACHE_DIR=$venv/mypy RUFF_CACHE_DIR=$venv/ruff
cd "$here"

"$venv/bin/ruff" check --quiet . "$tests"
"$venv/bin/ruff" format --quiet --check . "$tests"
mypy() { MYPYPATH=.:$tests "$venv/bin/mypy" --no-error-summary "$@"; }
mypy trailgym
mypy --python-version 3.11 "$tests" examples/*.py benchmarks/*.py
[ $# -gt 0 ] || set -- "$tests"
exec "$venv/bin/pytest" -c pyproject.toml "$@"
