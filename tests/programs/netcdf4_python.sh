#!/usr/bin/env bash
# The tests of netCDF4-python on its own wheel, with the C library of this project in the place of netCDF-C.
#
# usage: netcdf4_python.sh PYTHON TARGET WORK
#
# PYTHON has the wheel, TARGET has libnetcdf.so and ncz, which stands in for ncdump and ncgen, and WORK is an empty folder.
set -euo pipefail
python=$(realpath -s "$1") target=$(realpath "$2") work=$3
library=$target/libnetcdf.so
capi=$(cd "$(dirname "$0")/../../crates/capi" && pwd)

# A copy of the wheel, whose netCDF-C is replaced.
packages=$("$python" -c 'import os, netCDF4; print(os.path.dirname(os.path.dirname(netCDF4.__file__)))')
mkdir "$work/wheel"
cp -r "$packages/netCDF4" "$packages/netcdf4.libs" "$work/wheel"
replaced=$(echo "$work"/wheel/netcdf4.libs/libnetcdf-*.so*)
cp "$library" "$replaced"

# The tests are in the source package only. Its build script looks for netCDF, and finds this one.
"$capi/install.sh" "$library" "$work/prefix"
version=$("$python" -c 'import netCDF4; print(netCDF4.__version__)')
PATH=$work/prefix/bin:$PATH timeout 300 "$python" -m pip download --quiet --disable-pip-version-check --no-deps \
  --no-binary netCDF4 --dest "$work" "netCDF4==$version"
tar -xzf "$work"/netcdf4-*.tar.gz -C "$work"
ln -s "$target/ncz" "$work/prefix/bin/ncdump"
ln -s "$target/ncz" "$work/prefix/bin/ncgen"
cd "$work"/netcdf4-*/test

export PATH=$work/prefix/bin:$PATH PYTHONPATH=$work/wheel NO_NET=1
"$python" -c 'import netCDF4; assert "nczarr" in netCDF4.getlibversion(), netCDF4.getlibversion()'
"$python" -m pytest -q -W ignore -p no:cacheprovider . >"$work/netcdf4_python.log" 2>&1 && passed=yes || passed=no
echo "netCDF4-python: $(tail -n 1 "$work/netcdf4_python.log")"
[ $passed = yes ] || { grep -E '^(ERROR|FAILED)' "$work/netcdf4_python.log"; exit 1; }
