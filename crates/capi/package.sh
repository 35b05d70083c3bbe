#!/bin/sh
# Builds the Debian package of the library with cargo-deb, and prints its path.
#
# usage: package.sh [PROFILE], with PROFILE a profile of cargo, `release` if there is none
set -eu

profile=${1:-release}
here=$(cd "$(dirname "$0")" && pwd)
target=$(cargo metadata --manifest-path "$here/Cargo.toml" --format-version 1 --no-deps |
    sed 's/.*"target_directory":"\([^"]*\)".*/\1/')
# A package of a debug build is for tests only: it is made quickly and is large.
case $profile in dev) folder=$target/debug fast=--fast ;; *) folder=$target/$profile fast= ;; esac

cargo build --quiet --manifest-path "$here/Cargo.toml" --profile "$profile"
cargo rustc --quiet --manifest-path "$here/Cargo.toml" --profile "$profile" --lib --crate-type staticlib
rm -rf "$folder/netcdf-root"
DESTDIR=$folder/netcdf-root "$here/install.sh" "$folder/libnetcdf.so" /usr "$folder/libnetcdf.a"
# shellcheck disable=SC2086 # no word, or one
cargo deb --quiet --manifest-path "$here/Cargo.toml" --profile "$profile" --no-build --no-strip $fast
