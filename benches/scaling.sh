#!/bin/sh
# Shows that threads do not wait for each other. For 1 to 16 threads it prints the futex calls of a whole
# operation on 128 chunks, and its instructions per chunk. A shared lock increases the first number. Repeated
# work per thread increases the second. Neither needs one processor per thread, or an idle machine.
#
#     benches/scaling.sh                  # builds a program that valgrind can run, below target/scaling
#     benches/scaling.sh path/to/nczarr-runner      # one that was built with RUSTFLAGS=--cfg=rustix_use_libc
#
# It needs strace and valgrind. Each run has a separate thread pool, which may have more threads than
# processors.
set -eu
here=$(cd "$(dirname "$0")/.." && pwd)
if [ $# -gt 0 ]; then
  runner=$1
else
  runner=$here/target/scaling/release/nczarr-runner
  RUSTFLAGS=--cfg=rustix_use_libc CARGO_TARGET_DIR=$here/target/scaling \
    cargo build -q --release --manifest-path "$here/Cargo.toml" -p nczarr-benches --bin nczarr-runner
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
seq 1 3000000 | head -c 16777216 > "$work/data"

# run THREADS OP CODEC PATH [FLAG …]
run() {
  threads=$1 op=$2 codec=$3 path=$4
  shift 4
  RAYON_NUM_THREADS=$threads $with "$runner" --format v2 --op "$op" --codec "$codec" --path "$path" \
    --shape 64,256,256 --chunks 32,32,32 --dtype f4 --threads "$threads" --data "$work/data" "$@"
}

echo "operation          threads  futex calls  instructions per chunk"
for codec in none deflate5s zstd3; do
  with='' run 2 write $codec "$work/$codec" > "$work/out"
done
for row in "read none" "read deflate5s" "read zstd3" "write none" "write zstd3" "box zstd3 --mode warm --count 128"; do
  set -- $row
  op=$1 codec=$2
  shift 2
  for threads in 1 2 4 8 16; do
    path=$work/$codec
    [ "$op" = write ] && path=$work/new && rm -rf "$path"
    with="strace -f -c -e trace=futex -o $work/calls" run $threads "$op" "$codec" "$path" "$@" > "$work/out"
    ! grep -q '"skip"' "$work/out" || { cat "$work/out" >&2; exit 1; }
    calls=$(awk '$NF == "futex" { print $4 }' "$work/calls")
    [ "$op" = write ] && rm -rf "$path"
    with="valgrind --tool=callgrind --callgrind-out-file=/dev/null" \
      run $threads "$op" "$codec" "$path" "$@" > "$work/out" 2> "$work/counts"
    count=$(awk '/refs:/ { gsub(",", "", $NF); printf "%d", $NF / 128 }' "$work/counts")
    printf '%-18s %7d %12d %23d\n' "$op $codec" $threads "${calls:-0}" "$count"
  done
done
