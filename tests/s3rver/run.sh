#!/usr/bin/env bash
# Writing to a server without conditional writes: s3rver, in an environment of its own below the target directory.
set -euo pipefail
cd "$(dirname "$0")/../.."

command -v npm >/dev/null && command -v node >/dev/null || {
  echo "tests/s3rver/run.sh needs npm and node, which install and run s3rver"
  exit 1
}
target=$(cargo metadata --format-version 1 --no-deps | sed 's/.*"target_directory":"\([^"]*\)".*/\1/')
here=tests/s3rver
place=$target/s3rver
if ! cmp -s "$here/package-lock.json" "$place/installed.json"; then
  rm -rf "$place"
  mkdir -p "$place"
  cp "$here/package.json" "$here/package-lock.json" "$here/serve.js" "$place/"
  (cd "$place" && npm ci --silent --no-audit --no-fund)
  cp "$here/package-lock.json" "$place/installed.json"
fi
cp "$here/serve.js" "$place/"

log=$(mktemp)
objects=$(mktemp -d)
# Its marks of pages are made with a cipher that OpenSSL 3 has in its legacy provider alone.
node --openssl-legacy-provider "$place/serve.js" "$objects" >"$log" 2>"$log.err" &
server=$!
trap 'kill "$server" 2>/dev/null || true; rm -rf "$log" "$log.err" "$objects"' EXIT
until grep -q '^http' "$log"; do
  kill -0 "$server" || { echo "s3rver did not start"; cat "$log.err"; exit 1; }
  sleep 0.2
done
NCZ_S3_UNCONDITIONAL=$(grep -m 1 '^http' "$log") cargo test --quiet --workspace --test it -- one_who_is_alone
left=$(find "$objects/bucket" -type f | head -n 5)
[ -z "$left" ] || { echo "objects are left in the bucket: $left"; exit 1; }
