#!/usr/bin/env bash
# Copies the example dataset into another store, with other chunks and filters, and dumps the copy as CDL.
# Builds what it needs; leaves nothing behind but the build.
set -euo pipefail
cd "$(dirname "$0")/.."

cargo build --quiet -p nczarr-cli --bin ncz
target=$(cargo metadata --format-version 1 --no-deps | sed 's/.*"target_directory":"\([^"]*\)".*/\1/')
PATH=$target/debug:$PATH
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

echo "\$ ncz copy examples/data/ocean.zarr copy.zarr --chunks time/12,lat/24,lon/36 --filter 'shuffle|zstd,3'"
ncz copy examples/data/ocean.zarr "$folder/copy.zarr" --chunks time/12,lat/24,lon/36 --filter 'shuffle|zstd,3'
echo "\$ ncz dump -s copy.zarr"
ncz dump -s "$folder/copy.zarr"
