#!/usr/bin/env bash
# Builds the book below target/book. Installs mdBook below target/tools if it is not there.
set -euo pipefail
cd "$(dirname "$0")/.."

version=0.4.52
tools=$PWD/target/tools
if ! "$tools/bin/mdbook" --version 2>/dev/null | grep -qF "v$version"; then
  cargo install --quiet --locked --debug --no-default-features --root "$tools" "mdbook@$version"
fi
"$tools/bin/mdbook" build docs
