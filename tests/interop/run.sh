#!/usr/bin/env bash
# Interoperability with other implementations: they read what nczarr wrote, it reads what they wrote, and they read its copies
# of the corpus, all of it if NCZ_CORPUS names it.
# The Python side runs in an environment of its own below the target directory, with pinned versions.
set -euo pipefail
cd "$(dirname "$0")/../.."

target=$(cargo metadata --format-version 1 --no-deps | sed 's/.*"target_directory":"\([^"]*\)".*/\1/')
here=tests/interop
python=${NCZ_PYTHON:-}
if [ -z "$python" ]; then
  venv=$target/interop-venv
  if ! cmp -s "$here/requirements.txt" "$venv/requirements.txt"; then
    rm -rf "$venv"
    python3 -m venv "$venv"
    "$venv/bin/pip" install --quiet --disable-pip-version-check -r "$here/requirements.txt"
    cp "$here/requirements.txt" "$venv/requirements.txt"
  fi
  python=$venv/bin/python
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/ours" "$work/theirs" "$work/copies"

# All of the workspace, as its tests: dependencies with other features would be built once more.
cargo build --quiet --workspace --bin interop --bin ncz --bin nczarr-plugin-host --example linked_ncz \
  --features nczarr-cli/http,nczarr-cli/s3,nczarr-cli/filter-plugins
failed=0
"$target/debug/interop" write "$work/ours"
"$python" "$here/check.py" "$work/ours" || failed=1
"$target/debug/ncz" gen -4 "$here/user_types.cdl" -o "$work/user_types.nc"
echo 'netcdf c { dimensions: t = UNLIMITED ; x = 2 ; variables: int r(t, x) ; data: r = 1, 2, 3, 4 ; }' |
  "$target/debug/ncz" gen -7 -o "$work/strict.nc"
sed '/raw/d; /^ r = /d' "$here/user_types.cdl" >"$work/plain_types.cdl"
"$target/debug/ncz" gen -4 "$work/plain_types.cdl" -o "$work/plain_types.nc"
"$python" "$here/user_types.py" "$work/user_types.nc" "$work/strict.nc" "$work/plain_types.nc" || failed=1
"$python" "$here/hdf5_filters.py" "$target/debug/ncz" "$work/filters" || failed=1
"$python" "$here/filter_plugins.py" "$target/debug/ncz" "$work/plugins" || failed=1
"$python" -W ignore "$here/array_codec.py" "$target/debug/examples/linked_ncz" "$work/pcodec" || failed=1
mkdir "$work/types"
"$target/debug/interop" types "$work/types"
"$python" -W ignore "$here/zarr_types.py" "$work/types" || failed=1
# The full run: 8 processes with 1,000 appends each.
"$python" -W ignore "$here/append.py" "$target/debug/interop" "$work/append" 8 40 5 || failed=1
"$python" "$here/unfilled.py" "$target/debug/ncz" "$work/unfilled" || failed=1
"$python" "$here/far.py" "$target/debug/ncz" "$work/far" || failed=1
"$python" -W ignore "$here/xarray_page.py" "$target/debug/ncz" "$work/page" 2>/dev/null || failed=1
"$python" "$here/write.py" "$work/theirs"
"$target/debug/interop" read "$work/theirs" || failed=1
"$python" "$here/copies.py" "$target/debug/ncz" "${NCZ_CORPUS:-tests/corpus}" "$work/copies" ${NCZ_CORPUS:+--whole} || failed=1
"$python" "$here/hdf5_copies.py" "$target/debug/ncz" "${NCZ_CORPUS:-tests/corpus}" "$work/hdf5" ${NCZ_CORPUS:+--whole} || failed=1
"$python" "$here/hdf5_chunks.py" "$target/debug/interop" "${NCZ_CORPUS:-tests/corpus}" ${NCZ_CORPUS:+--whole} || failed=1
[ -z "${NCZ_CORPUS:-}" ] || "$python" "$here/edited.py" "$target/debug/interop" "$NCZ_CORPUS" "$work/edited" || failed=1
if command -v ncdump >/dev/null; then
  "$python" "$here/ncdump.py" "$target/debug/ncz" "${NCZ_CORPUS:-tests/corpus}" || failed=1
fi
exit $failed
