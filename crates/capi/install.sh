#!/bin/sh
# Installs libnetcdf.so, its headers, nc-config and netcdf.pc below a prefix.
#
# usage: install.sh LIBRARY PREFIX, with LIBRARY a libnetcdf.so that cargo built. DESTDIR is put before all paths.
set -eu

[ $# -eq 2 ] || { echo "usage: $0 LIBRARY PREFIX" >&2; exit 1; }
library=$1 prefix=$2
here=$(cd "$(dirname "$0")" && pwd)
destination=${DESTDIR:-}$prefix
# The version of the interface, which programs and their build scripts compare.
version=$(sed -n 's/^#define NC_VERSION  *"\(.*\)"$/\1/p' "$here/include/netcdf_meta.h")

mkdir -p "$destination/lib/pkgconfig" "$destination/include" "$destination/bin"
cp "$library" "$destination/lib/libnetcdf.so.22"
# Programs that were linked with older versions of netCDF-C ask for 18 and 19.
for name in libnetcdf.so libnetcdf.so.19 libnetcdf.so.18; do
    ln -sf libnetcdf.so.22 "$destination/lib/$name"
done
cp "$here"/include/netcdf*.h "$destination/include/"
fill() {
    sed -e "s|@prefix@|$prefix|g" -e "s|@libdir@|$prefix/lib|g" -e "s|@includedir@|$prefix/include|g" \
        -e "s|@version@|$version|g" "$here/$1"
}
fill nc-config.in > "$destination/bin/nc-config"
chmod 755 "$destination/bin/nc-config"
fill netcdf.pc.in > "$destination/lib/pkgconfig/netcdf.pc"
