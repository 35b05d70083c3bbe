#!/bin/sh
# Installs libnetcdf.so, its headers, nc-config and netcdf.pc below a prefix.
#
# usage: install.sh LIBRARY PREFIX [STATIC], with LIBRARY and STATIC the libnetcdf.so and libnetcdf.a that cargo built.
# DESTDIR is put before all paths.
set -eu

[ $# -eq 2 ] || [ $# -eq 3 ] || { echo "usage: $0 LIBRARY PREFIX [STATIC]" >&2; exit 1; }
library=$1 prefix=$2 static=${3:-}
here=$(cd "$(dirname "$0")" && pwd)
libdir=$prefix/lib
root=${DESTDIR:-}
# The version of the interface, which programs and their build scripts compare.
version=$(sed -n 's/^#define NC_VERSION  *"\(.*\)"$/\1/p' "$here/include/netcdf_meta.h")

mkdir -p "$root$libdir/pkgconfig" "$root$prefix/include" "$root$prefix/bin"
cp "$library" "$root$libdir/libnetcdf.so.22"
chmod 644 "$root$libdir/libnetcdf.so.22"
# Programs that were linked with older versions of netCDF-C ask for 18 and 19.
for name in libnetcdf.so libnetcdf.so.19 libnetcdf.so.18; do
    ln -sf libnetcdf.so.22 "$root$libdir/$name"
done

# The archive of cargo has the names of all its parts, such as ZSTD_compress. A program may link a part of its own.
# So the installed archive is one object that has only the names of the shared library.
install_static() {
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
    nm -D --defined-only "$library" | sed 's/.* //' > "$work/names"
    ld -r -o "$work/netcdf.o" --whole-archive "$static"
    # The parts of Rust's own library carry bitcode, which does not stay valid when objects become one.
    objcopy --strip-debug -R .llvmbc -R .llvmcmd --keep-global-symbols="$work/names" "$work/netcdf.o"
    rm -f "$root$libdir/libnetcdf.a"
    ar rcs "$root$libdir/libnetcdf.a" "$work/netcdf.o"
}
[ -z "$static" ] || install_static

cp "$here"/include/*.h "$root$prefix/include/"
fill() {
    sed -e "s|@prefix@|$prefix|g" -e "s|@libdir@|$libdir|g" -e "s|@includedir@|$prefix/include|g" \
        -e "s|@version@|$version|g" "$here/$1"
}
fill nc-config.in > "$root$prefix/bin/nc-config"
chmod 755 "$root$prefix/bin/nc-config"
fill netcdf.pc.in > "$root$libdir/pkgconfig/netcdf.pc"
