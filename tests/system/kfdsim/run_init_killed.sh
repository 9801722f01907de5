#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The world's init killed from outside (as by the OOM killer): the world ends,
# kfdsim says so and does not pretend that the command ended well.
set -eu
# shellcheck source=tests/lib/run.inc.sh
. "$SOURCE/tests/lib/run.inc.sh"

env "$MARK" "$KFDSIM" --report "$DIR/report.json" -- sh -c ': >"$0/up"; exec sleep 600' "$DIR" 2>"$DIR/err" &
kfdsim=$!
wait_for 20 test -e "$DIR/up"
init=$(tr -d " " <"/proc/$kfdsim/task/$kfdsim/children") # one, and a blank
kill -KILL "$init"
status=0
wait "$kfdsim" || status=$?
same "$status" 137
said 'world was killed'
same "$(jq .exit_code "$DIR/report.json")" 137
wait_for 20 none_marked
