#!/usr/bin/env bash
# Runs every example program. Each checks its own results.
set -euo pipefail
cd "$(dirname "$0")/.."

for source in examples/*.rs; do
  name=$(basename "$source" .rs)
  echo "== $name"
  cargo run --quiet -p nczarr --features s3,http --example "$name"
done
./examples/main-job.sh > /dev/null
