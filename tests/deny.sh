#!/usr/bin/env bash
# Checks licences, banned crates and origins of all dependencies. Installs cargo-deny below target/tools if it is not there.
set -euo pipefail
cd "$(dirname "$0")/.."

version=0.20.2
tools=$PWD/target/tools
if ! "$tools/bin/cargo-deny" --version 2>/dev/null | grep -qF "$version"; then
  cargo install --quiet --locked --debug --root "$tools" "cargo-deny@$version"
fi
"$tools/bin/cargo-deny" --all-features check licenses bans sources
