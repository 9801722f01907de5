#!/bin/bash
# SPDX-License-Identifier: MIT
# Proves: with --sync-fd, kfdreplay writes one byte when it is ready, and runs nothing before the reply.
set -eu
# shellcheck source=tests/lib/kfdreplay.inc.sh
. "$SOURCE/tests/lib/kfdreplay.inc.sh"
export work json

cat >"$work/inner" <<'INNER'
mkfifo "$work/ready" "$work/go"
exec 3<>"$work/go" 4<>"$work/ready"
"$@" --sync-fd 3:4 >/dev/null &
pid=$!
read -r -n 1 -t 20 -u 4 byte
echo "$byte" >"$work/byte"
sleep 1
kill -0 "$pid" && [ ! -e "$json" ] && echo waiting >"$work/state"
date +%s%N >"$work/answered"
printf g >&3
wait "$pid"
date +%s%N >"$work/ended"
INNER
on_gpu -- bash "$work/inner" "$BUILD/kfdreplay" --trace "$gemm" --requests 5 --json "$json"
[ "$(cat "$work/byte")" = r ] || fail "no byte"
[ "$(cat "$work/state")" = waiting ] || fail "it did not wait"
# The second of waiting is not part of the run, which is at most as long as the remaining time.
holds "$json" '.requests == 5' ".seconds <= $(($(cat "$work/ended") - $(cat "$work/answered"))) / 1e9 * $scale"

# The end of the file is a reply, too.
on_gpu -- "$BUILD/kfdreplay" --trace "$gemm" --requests 5 --json "$json" --sync-fd 0:2 </dev/null >/dev/null 2>"$work/err"
holds "$json" '.requests == 5'
[ "$(cat "$work/err")" = r ] || fail "not one byte: $(cat "$work/err")"
expect 1 on_gpu -- "$BUILD/kfdreplay" --trace "$gemm" --sync-fd 0:77
one_line '--sync-fd: cannot write to 77'
