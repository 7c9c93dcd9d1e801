#!/usr/bin/env bash
# Prints the folder of the virtual environment that the tests run in, and makes it first where it is not there yet.
# --find: makes nothing; fails when there is none. PYTHON: the interpreter, at least 3.11.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
python=${PYTHON:-python3}

"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || {
  echo "the tests of the Python client need Python 3.11 or newer; PYTHON names another one" >&2
  exit 1
}
pins=$("$python" - "$here/requirements-test.txt" <<'PYTHON'
import hashlib, sys
print(hashlib.sha256(open(sys.argv[1], "rb").read() + sys.version.encode()).hexdigest()[:12])
PYTHON
)
venv=${XDG_CACHE_HOME:-$HOME/.cache}/trailgym/python-$pins

if [ ! -e "$venv/ready" ]; then
  [ "${1:-}" != --find ] || exit 1
  rm -rf "$venv"
  "$python" -m venv "$venv" >&2
  "$venv/bin/pip" install --quiet --disable-pip-version-check -r "$here/requirements-test.txt" >&2
  touch "$venv/ready"
fi
echo "$venv"
