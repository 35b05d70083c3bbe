#!/usr/bin/env bash
# Builds the wheel of the Python package, installs it in an environment of its own below the target directory, and runs its tests.
set -euo pipefail
cd "$(dirname "$0")/.."

target=$(cargo metadata --format-version 1 --no-deps | sed 's/.*"target_directory":"\([^"]*\)".*/\1/')
venv=$target/python-venv
if ! cmp -s python/requirements.txt "$venv/requirements.txt"; then
  rm -rf "$venv"
  python3 -m venv "$venv"
  "$venv/bin/pip" install --quiet --disable-pip-version-check -r python/requirements.txt
  cp python/requirements.txt "$venv/requirements.txt"
fi

# Without optimisation: the tests wait for the compiler longer than for the library.
"$venv/bin/maturin" build --quiet --profile dev --manifest-path python/Cargo.toml --out "$target/wheels"
"$venv/bin/pip" install --quiet --disable-pip-version-check --force-reinstall --no-deps "$target"/wheels/nczarr-*.whl

# The S3 server of the tests.
cargo build --quiet -p nczarr-s3-server --bin s3-folder
export NCZ_S3_SERVER=$target/debug/s3-folder

# The tests run beside the sources: the installed package must not be hidden by them.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp -r python/tests python/pyproject.toml python/README.md docs/python*.md "$work"
cd "$work"
"$venv/bin/python" -W ignore::DeprecationWarning -m pytest -q -p no:cacheprovider -n 2 tests
