#!/usr/bin/env bash
# Interoperability with other implementations: they read what nczarr wrote, and it reads what they wrote.
# The Python side runs in an environment of its own below the target directory, with pinned versions.
set -euo pipefail
cd "$(dirname "$0")/../.."

target=$(cargo metadata --format-version 1 --no-deps | sed 's/.*"target_directory":"\([^"]*\)".*/\1/')
here=tests/interop
python=${NCZ_PYTHON:-}
if [ -z "$python" ]; then
  venv=$target/interop-venv
  if ! cmp -s "$here/requirements.txt" "$venv/requirements.txt"; then
    rm -rf "$venv"
    python3 -m venv "$venv"
    "$venv/bin/pip" install --quiet --disable-pip-version-check -r "$here/requirements.txt"
    cp "$here/requirements.txt" "$venv/requirements.txt"
  fi
  python=$venv/bin/python
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/ours" "$work/theirs"

cargo build --quiet -p nczarr-tests --bin interop
failed=0
"$target/debug/interop" write "$work/ours"
"$python" "$here/check.py" "$work/ours" || failed=1
"$python" "$here/write.py" "$work/theirs"
"$target/debug/interop" read "$work/theirs" || failed=1
exit $failed
