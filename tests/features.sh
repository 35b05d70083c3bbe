#!/usr/bin/env bash
# Builds and tests the feature sets.
#
# usage: tests/features.sh [PART…]      without arguments: tree, sets, every, singles, no-c and targets
#
#   tree     the default build has neither an asynchronous runtime nor TLS, and at most 100 crates; compiles nothing
#   sets     the facade's tests with no features, with two, and with the default features
#   every    the facade's tests with all features; `cargo test --workspace` runs most of them
#   filters  the filters' tests with all features: blosc-snappy is the only feature that `cargo test --workspace` lacks
#   singles  the facade's unit tests with each feature alone; takes minutes
#   checks   as singles, but compiled only
#   no-c     three sets without a C compiler
#   targets  Windows, macOS and WebAssembly, each if its target is installed (rustup); compiled only
set -euo pipefail
cd "$(dirname "$0")/.."

# All features that need no C compiler, except mmap, which needs Unix or Windows. These need one: http, s3, fast-deflate, zstd, blosc,
# blosc-snappy, lz4 and lzma.
pure=nczarr,classic,hdf5,hdf4,file,mem,zip,wrap,parallel,ndarray,derive,async,shuffle,deflate,fletcher32,szip,bzip2,crc32,crc32c,adler32,jenkins-lookup3,numeric,filter-plugins

say() { printf -- '-- %s (after %d s)\n' "$*" "$SECONDS"; }

# The features of the root package, in the order of its manifest, without `default`.
features() {
  sed -n '/^\[features\]/,/^\[dep/s/^\([a-z0-9-]*\) = \[.*/\1/p' Cargo.toml | grep -vx default
}

tree() {
  say "no asynchronous runtime, no TLS in the default build"
  local found
  found=$(cargo tree --quiet -p nczarr -e normal,build --prefix none --format '{p}' | cut -d' ' -f1 | sort -u)
  grep -qx nczarr-zmap-zip <<<"$found" || { echo "cargo tree shows no default features"; return 1; }
  if grep -xE 'tokio|async-std|smol|async-io|async-executor|futures-executor|hyper|reqwest|rustls|native-tls|openssl|openssl-sys|ring|aws-lc-sys|boring' <<<"$found"; then
    echo "the default build must not have these"
    return 1
  fi
  local count
  count=$(cargo tree --quiet -p nczarr -e normal,build --prefix none --format '{p}' | cut -d' ' -f1,2 | sort -u | wc -l)
  echo "the default build has $count crates"
  [ "$count" -le 100 ] || { echo "at most 100 are allowed"; return 1; }
}

sets() {
  local set
  for set in "--no-default-features" "--no-default-features --features nczarr,zip" ""; do
    say "tests with ${set:-the default features}"
    # shellcheck disable=SC2086
    cargo test --quiet -p nczarr $set
  done
  say "the core of nczarr-bench, without the facade"
  cargo check --quiet -p nczarr-bench --no-default-features
}

every() {
  say "tests with all features"
  cargo test --quiet -p nczarr --all-features
}

# The tests of the workspace lack only blosc-snappy, a feature of the filters. The first lines check that.
filters() {
  say "tests of the filters with all features"
  local lacks
  lacks=$(comm -23 <(features | sort) <(workspace | sort) | xargs)
  [ "$lacks" = blosc-snappy ] || { echo "cargo test --workspace lacks the features: $lacks"; return 1; }
  cargo test --quiet -p nczarr-filters --all-features
}

# The features that the root package has when the whole workspace is tested.
workspace() {
  cargo tree --quiet --workspace -e features --prefix none -i nczarr | sed -n 's/^nczarr feature "\([a-z0-9-]*\)".*/\1/p' | sort -u
}

singles() {
  local feature
  for feature in $(features); do
    say "tests with $feature alone"
    cargo test --quiet -p nczarr --no-default-features --features "$feature" --lib
  done
}

# The same features, compiled only.
checks() {
  local feature
  for feature in $(features); do
    say "check of $feature alone"
    cargo check --quiet -p nczarr --no-default-features --features "$feature"
  done
}

# A separate target folder: objects of an earlier build with a C compiler do not count.
no_c() {
  local set
  for set in classic,file nczarr,file,deflate "$pure"; do
    say "without a C compiler: $set"
    CC=false CXX=false CARGO_TARGET_DIR=target/no-c cargo check --quiet -p nczarr --no-default-features --features "$set"
  done
}

targets() {
  local target installed
  installed=$(rustup target list --installed 2>/dev/null || true)
  for target in x86_64-pc-windows-gnu x86_64-pc-windows-msvc aarch64-apple-darwin x86_64-apple-darwin wasm32-unknown-unknown; do
    if grep -qx "$target" <<<"$installed"; then
      say "check for $target"
      CC=false CXX=false CARGO_TARGET_DIR=target/no-c \
        cargo check --quiet -p nczarr --no-default-features --features "$pure" --target "$target"
    fi
  done
}

for part in "${@:-all}"; do
  case $part in
    tree | sets | every | filters | checks | singles | targets) "$part" ;;
    no-c) no_c ;;
    all) tree; sets; every; singles; no_c; targets ;;
    *) echo "no such part: $part"; exit 1 ;;
  esac
done
