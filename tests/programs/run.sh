#!/usr/bin/env bash
# NCO, CDO, ncview, Fortran, R and Octave of Debian on the C library of this project, beside that of netCDF-C.
# Packages that are absent are installed. Where that is impossible, the script says so and ends.
set -euo pipefail
cd "$(dirname "$0")/../.."

target=$(cargo metadata --format-version 1 --no-deps | sed 's/.*"target_directory":"\([^"]*\)".*/\1/')
here=tests/programs
absent=()
for package in nco:ncks cdo:cdo netcdf-bin:ncdump ncview:ncview xvfb:Xvfb x11-apps:xwd gfortran:gfortran \
  r-base-core:Rscript octave:octave-cli; do
  command -v "${package#*:}" >/dev/null || absent+=("${package%:*}")
done
for package in libnetcdff7 r-cran-rnetcdf r-cran-bit64 octave-netcdf; do
  dpkg -s "$package" >/dev/null 2>&1 || absent+=("$package")
done
install() { DEBIAN_FRONTEND=noninteractive timeout 240 apt-get install -y -qq --no-install-recommends "$@" >/dev/null 2>&1; }
if [ ${#absent[@]} -gt 0 ]; then
  install "${absent[@]}" || { timeout 60 apt-get update -qq >/dev/null 2>&1 && install "${absent[@]}"; } || {
    echo "NOT RUN: the packages ${absent[*]} cannot be installed here"
    exit 0
  }
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# All of the workspace, as its tests: dependencies with other features would be built once more.
cargo build --quiet --workspace --lib --bin ncz --example linked_ncz --features nczarr-cli/http,nczarr-cli/s3,nczarr-cli/filter-plugins
mkdir "$work/lib" "$work/compare" "$work/xarray"
ln -s "$target/debug/libnetcdf.so" "$work/lib/libnetcdf.so.19"
failed=0

python=$target/interop-venv/bin/python
netcdf4=
if [ -x "$python" ]; then
  "$python" -W ignore $here/xarray_store.py "$work/lib" "$work/xarray" || failed=1
  mkdir "$work/netcdf4"
  $here/netcdf4_python.sh "$python" "$target/debug" "$work/netcdf4" &
  netcdf4=$!
fi
# Beside the tests of netCDF4-python: each uses one processor.
python3 $here/compare.py "$work/lib" "$work/compare" || failed=1
[ -z "$netcdf4" ] || wait "$netcdf4" || failed=1

# Fortran: the modules lie in a package whose other needs are not wanted here.
modules() { (cd "$work" && timeout 60 apt-get download -qq libnetcdff-dev 2>/dev/null && dpkg -x libnetcdff-dev_*.deb fortran); }
if modules || { timeout 60 apt-get update -qq >/dev/null 2>&1 && modules; }; then
  gfortran -I"$work/fortran/usr/include" $here/pressure.f90 -o "$work/pressure" -J"$work" -l:libnetcdff.so.7 -l:libnetcdf.so.19
  mkdir "$work/ours"
  for arguments in classic.nc "netcdf4.nc 4"; do
    name=${arguments% 4}
    # shellcheck disable=SC2086 # one word or two
    (cd "$work" && ./pressure $arguments && cd ours && LD_LIBRARY_PATH=$work/lib ../pressure $arguments) || failed=1
    cmp <(ncdump "$work/$name") <(ncdump "$work/ours/$name") || failed=1
  done
  for mode in nczarr zarr,v3 nczarr,zip; do
    LD_LIBRARY_PATH=$work/lib "$work/pressure" "file://$work/fortran-$mode#mode=$mode" 4 || failed=1
  done
else
  echo "NOT RUN: the modules of netCDF-Fortran cannot be loaded here"
fi

# R puts folders of its own before LD_LIBRARY_PATH. The tests are those of the packages.
mkdir "$work/r"
tests=/usr/share/doc/r-cran-rnetcdf/tests/RNetCDF-test.R.gz
if [ -f $tests ]; then
  zcat $tests >"$work/r/tests.R"
  (cd "$work/r" && R_LD_LIBRARY_PATH=$work/lib:$(R RHOME)/lib Rscript tests.R >log 2>&1) || failed=1
  echo "RNetCDF: $(grep Summary "$work/r/log" || tail -n 3 "$work/r/log")"
else
  echo "NOT RUN: this system leaves out the documentation of packages, and with it the tests of RNetCDF"
fi
LD_LIBRARY_PATH=$work/lib octave-cli --norc --eval "pkg load netcdf; test_netcdf" >"$work/octave.log" 2>&1 || failed=1
echo "Octave: $(grep -c ' OK *$' "$work/octave.log") tests passed"
if grep -A 1 FAIL "$work/octave.log" || ! grep -q 'version "4.10.1' "$work/octave.log"; then failed=1; fi

cdo -s -f nc4 -selname,tas "$work/compare/one-netcdf4.nc" "$work/tas.nc"
LD_LIBRARY_PATH=$work/lib ncks -h -O "$work/tas.nc" "file://$work/tas#mode=nczarr"
python3 $here/ncview.py "$work/lib" "$work/tas.nc" "file://$work/tas#mode=nczarr" || failed=1
exit $failed
