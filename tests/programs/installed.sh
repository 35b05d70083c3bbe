#!/usr/bin/env bash
# Installs the C library and its Debian package below scratch folders, then builds and runs C programs against each.
set -euo pipefail
cd "$(dirname "$0")/../.."

target=$(cargo metadata --format-version 1 --no-deps | sed 's/.*"target_directory":"\([^"]*\)".*/\1/')
capi=$PWD/crates/capi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
say() { echo "installed: $*"; }
fail() { say "$*" >&2; exit 1; }

# Runs a program on a file and on a store.
check() {
  rm -rf "$work/run" && mkdir "$work/run"
  local output
  output=$("$@" "$work/run/a.nc" "file://$work/run/s.zarr#mode=nczarr,file")
  [ "$output" = "0 failures" ] || fail "$1 says: $output"
}

program=$capi/tests/c/round_trip.c
cargo build --quiet -p nczarr-capi
cargo rustc --quiet -p nczarr-capi --lib --crate-type staticlib
"$capi/install.sh" "$target/debug/libnetcdf.so" "$work/prefix" "$target/debug/libnetcdf.a"
config=$work/prefix/bin/nc-config

# shellcheck disable=SC2046 # nc-config prints several words
cc $("$config" --cflags) -o "$work/shared" "$program" $("$config" --libs)
LD_LIBRARY_PATH=$work/prefix/lib check "$work/shared"

# All of it in the program, and only the library.
for static in "-static" ""; do
  # shellcheck disable=SC2046,SC2086
  cc $static $("$config" --cflags) -o "$work/static" "$program" "$work/prefix/lib/libnetcdf.a" $("$config" --static) \
    2>"$work/warnings" ||
    fail "the static library does not link: $(cat "$work/warnings")"
  check "$work/static"
  ! readelf -d "$work/static" | grep -q libnetcdf || fail "the static program needs the shared library"
done
private=$(sed -n 's/^Libs.private: //p' "$work/prefix/lib/pkgconfig/netcdf.pc")
[ "$private" = "$("$config" --static)" ] || fail "netcdf.pc needs '$private', nc-config '$("$config" --static)'"

# Two programs may have a function ZSTD_compress: the archive keeps such names to itself.
names() { nm --defined-only "$@" | sed -n 's/.* //p' | grep -v '^crc_fast_' | sort; }
diff <(names -D "$work/prefix/lib/libnetcdf.so") <(names -g "$work/prefix/lib/libnetcdf.a" | grep .) ||
  fail "the static library does not have the names of the shared one"
say "programs run with the shared library and with the static one"

# The package of Debian. cargo-deb is a tool of this script only.
version=3.8.0
tools=$target/tools
if ! "$tools/bin/cargo-deb" --version 2>/dev/null | grep -qF "$version"; then
  cargo install --quiet --locked --debug --root "$tools" "cargo-deb@$version"
fi
package=$(PATH=$tools/bin:$PATH "$capi/package.sh" dev | tail -n 1)
needed=$(dpkg-deb --field "$package" Depends | sed 's/.*libc6 (>= \([0-9.]*\)).*/\1/')
newest=$(objdump -T "$target/debug/libnetcdf.so" | grep -o 'GLIBC_[0-9.]*' | sed 's/GLIBC_//' | sort -V | tail -n 1)
[ "$(printf '%s\n' "$needed" "$newest" | sort -V | tail -n 1)" = "$needed" ] ||
  fail "the package asks for libc6 $needed, and the library needs $newest"
dpkg-deb --field "$package" Provides | grep -qF "libnetcdf19 (=" || fail "$package does not provide libnetcdf19"
dpkg -x "$package" "$work/unpacked"
for name in lib/libnetcdf.{so,so.19,so.22,a} lib/pkgconfig/netcdf.pc include/netcdf.h bin/nc-config; do
  [ -s "$work/unpacked/usr/$name" ] || fail "$package has no usr/$name"
done
[ "$(readlink "$work/unpacked/usr/lib/libnetcdf.so.19")" = libnetcdf.so.22 ] || fail "$package: libnetcdf.so.19 is no link"
cc "-I$work/unpacked/usr/include" -o "$work/packaged" "$program" "-L$work/unpacked/usr/lib" -lnetcdf
LD_LIBRARY_PATH=$work/unpacked/usr/lib check "$work/packaged"
say "a program runs on the package $(basename "$package")"
