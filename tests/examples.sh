#!/usr/bin/env bash
# Runs every example program. Each checks its own results.
set -euo pipefail
cd "$(dirname "$0")/.."

cargo build --quiet --workspace --examples
target=$(cargo metadata --format-version 1 --no-deps | sed 's/.*"target_directory":"\([^"]*\)".*/\1/')
for source in examples/*.rs; do
  name=$(basename "$source" .rs)
  echo "== $name"
  "$target/debug/examples/$name"
done
