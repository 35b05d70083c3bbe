#!/usr/bin/env bash
# NCO, CDO, ncview and Fortran of Debian on the C library of this project: they must do as with the library of netCDF-C.
# Packages that are absent are installed. Where that is impossible, the script says so and ends.
set -euo pipefail
cd "$(dirname "$0")/../.."

target=$(cargo metadata --format-version 1 --no-deps | sed 's/.*"target_directory":"\([^"]*\)".*/\1/')
here=tests/programs
absent=()
for package in nco:ncks cdo:cdo netcdf-bin:ncdump ncview:ncview xvfb:Xvfb x11-apps:xwd gfortran:gfortran; do
  command -v "${package#*:}" >/dev/null || absent+=("${package%:*}")
done
ldconfig -p | grep -q libnetcdff.so.7 || absent+=(libnetcdff7)
install() { DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >/dev/null 2>&1; }
if [ ${#absent[@]} -gt 0 ]; then
  install "${absent[@]}" || { apt-get update -qq >/dev/null 2>&1 && install "${absent[@]}"; } || {
    echo "NOT RUN: the packages ${absent[*]} cannot be installed here"
    exit 0
  }
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# All of the workspace, as its tests: dependencies with other features would be built once more.
cargo build --quiet --workspace --lib
mkdir "$work/lib" "$work/compare" "$work/xarray"
ln -s "$target/debug/libnetcdf.so" "$work/lib/libnetcdf.so.19"
failed=0

python3 $here/compare.py "$work/lib" "$work/compare" || failed=1
python=$target/interop-venv/bin/python
[ ! -x "$python" ] || "$python" -W ignore $here/xarray_store.py "$work/lib" "$work/xarray" || failed=1

# Fortran: the modules lie in a package whose other needs are not wanted here.
(cd "$work" && apt-get download -qq libnetcdff-dev 2>/dev/null && dpkg -x libnetcdff-dev_*.deb fortran) || {
  apt-get update -qq >/dev/null 2>&1
  (cd "$work" && apt-get download -qq libnetcdff-dev 2>/dev/null && dpkg -x libnetcdff-dev_*.deb fortran)
}
gfortran -I"$work/fortran/usr/include" $here/pressure.f90 -o "$work/pressure" -J"$work" -l:libnetcdff.so.7 -l:libnetcdf.so.19
for arguments in classic.nc "netcdf4.nc 4"; do
  # shellcheck disable=SC2086 # two words
  (cd "$work" && ./pressure $arguments && mkdir -p ours && cd ours && LD_LIBRARY_PATH=$work/lib ../pressure $arguments) || failed=1
  name=${arguments% 4}
  cmp <(ncdump "$work/$name") <(ncdump "$work/ours/$name") || failed=1
done
for mode in nczarr zarr,v3 nczarr,zip; do
  LD_LIBRARY_PATH=$work/lib "$work/pressure" "file://$work/fortran-$mode#mode=$mode" 4 || failed=1
done

cdo -s -f nc4 -selname,tas "$work/compare/one-netcdf4.nc" "$work/tas.nc"
LD_LIBRARY_PATH=$work/lib ncks -h -O "$work/tas.nc" "file://$work/tas#mode=nczarr"
python3 $here/ncview.py "$work/lib" "$work/tas.nc" "file://$work/tas#mode=nczarr" || failed=1
exit $failed
