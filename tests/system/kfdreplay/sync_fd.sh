#!/bin/bash
# SPDX-License-Identifier: MIT
# --sync-fd: one byte when it is ready, and nothing runs before the answer.
set -eu
# shellcheck source=tests/lib/replay.inc.sh
. "$SOURCE/tests/lib/replay.inc.sh"
export DIR JSON

cat >"$DIR/inner" <<'INNER'
mkfifo "$DIR/ready" "$DIR/go"
exec 3<>"$DIR/go" 4<>"$DIR/ready"
"$@" --sync-fd 3:4 >/dev/null &
pid=$!
read -r -n 1 -t 20 -u 4 byte
echo "$byte" >"$DIR/byte"
sleep 1
kill -0 "$pid" && [ ! -e "$JSON" ] && echo waiting >"$DIR/state"
date +%s%N >"$DIR/answered"
printf g >&3
wait "$pid"
date +%s%N >"$DIR/ended"
INNER
on_gpu -- bash "$DIR/inner" "$REPLAY" --trace "$GEMM" --requests 5 --json "$JSON"
[ "$(cat "$DIR/byte")" = r ] || fail "no byte"
[ "$(cat "$DIR/state")" = waiting ] || fail "it did not wait"
# the second of waiting is not part of the run, which is not longer than the time that is left
check '.requests == 5' ".seconds <= $(($(cat "$DIR/ended") - $(cat "$DIR/answered"))) / 1e9 * $scale"

# the end of the file is an answer too
on_gpu -- "$REPLAY" --trace "$GEMM" --requests 5 --json "$JSON" --sync-fd 0:2 </dev/null >/dev/null 2>"$DIR/err"
check '.requests == 5'
[ "$(cat "$DIR/err")" = r ] || fail "not one byte: $(cat "$DIR/err")"
expect 1 on_gpu -- "$REPLAY" --trace "$GEMM" --sync-fd 0:77
said '--sync-fd: cannot write to 77'
