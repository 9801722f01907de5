#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Proves: if the init of the simulation is killed from outside (as by the OOM killer), the simulation
# ends, and kfdsim says so and does not end with 0.
set -eu
# shellcheck source=tests/lib/kfdsim.inc.sh
. "$SOURCE/tests/lib/kfdsim.inc.sh"

env "$mark" "$BUILD/kfdsim" --report "$work/report.json" -- sh -c ': >"$0/up"; exec sleep 600' "$work" 2>"$work/err" &
kfdsim=$!
soon test -e "$work/up"
init=$(tr -d " " <"/proc/$kfdsim/task/$kfdsim/children") # one pid, and a blank
kill -KILL "$init"
status=0
wait "$kfdsim" || status=$?
same "$status" 137
one_line 'simulation was killed'
same "$(jq .exit_code "$work/report.json")" 137
soon none_marked
