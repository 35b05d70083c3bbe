#!/usr/bin/env bash
# A second opinion: the map of S3 against moto, another's server, in an environment of its own below the target directory.
set -euo pipefail
cd "$(dirname "$0")/../.."

target=$(cargo metadata --format-version 1 --no-deps | sed 's/.*"target_directory":"\([^"]*\)".*/\1/')
here=tests/moto
venv=$target/moto-venv
if ! cmp -s "$here/requirements.txt" "$venv/requirements.txt"; then
  rm -rf "$venv"
  python3 -m venv "$venv"
  "$venv/bin/pip" install --quiet --disable-pip-version-check -r "$here/requirements.txt"
  cp "$here/requirements.txt" "$venv/requirements.txt"
fi

# The server takes a port that is free, makes the bucket, and says where it is.
log=$(mktemp)
"$venv/bin/python" -u "$here/serve.py" >"$log" 2>"$log.err" &
server=$!
trap 'kill "$server" 2>/dev/null || true; rm -f "$log" "$log.err"' EXIT
until grep -q '^http' "$log"; do
  kill -0 "$server" || { echo "moto did not start"; cat "$log.err"; exit 1; }
  sleep 0.2
done
# All of the workspace, as before: dependencies with other features would be built once more.
NCZ_S3_ENDPOINT=$(grep -m 1 '^http' "$log") cargo test --quiet --workspace --test it endpoint::
