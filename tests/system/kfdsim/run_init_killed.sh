#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The world's init killed from outside (as by the OOM killer): the world ends,
# kfdsim says so and does not pretend that the command ended well.
set -eu
# shellcheck source=tests/lib/kfdsim.inc.sh
. "$SOURCE/tests/lib/kfdsim.inc.sh"

env "$mark" "$BUILD/kfdsim" --report "$work/report.json" -- sh -c ': >"$0/up"; exec sleep 600' "$work" 2>"$work/err" &
kfdsim=$!
soon test -e "$work/up"
init=$(tr -d " " <"/proc/$kfdsim/task/$kfdsim/children") # one, and a blank
kill -KILL "$init"
status=0
wait "$kfdsim" || status=$?
same "$status" 137
one_line 'simulation was killed'
same "$(jq .exit_code "$work/report.json")" 137
soon none_marked
