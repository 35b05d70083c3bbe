#!/bin/sh
# Builds every runner into $PEERS (default ~/.cache/nczarr-peers). These are a Python environment with the
# libraries, the Rust runners, the floor, the S3 server of the tests, and the C runner. The C runner links to
# the libnetcdf of the netCDF4 wheel. Its header comes from libnetcdf-dev or from the directory in
# NETCDF_INCLUDE.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
PEERS=${PEERS:-$HOME/.cache/nczarr-peers}
mkdir -p "$PEERS/bin"
for tool in python3 cargo cc; do
  command -v $tool > /dev/null || { echo "$tool is needed" >&2; exit 1; }
done
# The check imports the packages, because an earlier run may have stopped before it installed all of them.
if ! "$PEERS/py/bin/python" -c "import netCDF4, zarr, tensorstore, zarrs, h5py, scipy" 2> /dev/null; then
  python3 -m venv --clear "$PEERS/py"
  "$PEERS/py/bin/pip" -q install netCDF4==1.7.5.1.post1 zarr==3.1.6 numcodecs==0.16.6 tensorstore==0.1.86 zarrs==0.2.3 \
    h5py==3.16.0 scipy==1.17.1
fi
for crate in runners/zarrs floor; do
  CARGO_TARGET_DIR="$PEERS/target" cargo build -q --release --locked --manifest-path "$here/$crate/Cargo.toml"
done
CARGO_TARGET_DIR="$PEERS/target" cargo build -q --release --locked --manifest-path "$here/../../tests/s3-server/Cargo.toml"
libs=$(echo "$PEERS"/py/lib/python3*/site-packages/netcdf4.libs)
cc -O2 -o "$PEERS/bin/netcdf_c" "$here/runners/netcdf_c.c" ${NETCDF_INCLUDE:+-I"$NETCDF_INCLUDE"} \
  "$libs"/libnetcdf-*.so.* -Wl,-rpath,"$libs" -Wl,--allow-shlib-undefined ||
  echo "the netcdf-c runner is not built: it needs netcdf.h" >&2
echo "the runners are in $PEERS"
