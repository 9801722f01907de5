#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Proves: where kfdsched cannot know which processes use a GPU, `queues` and `top` say so, print
# nothing else and end with 77: in a container without the daemon's socket, and on a machine without
# a driver. With the socket they print what the daemon knows.
set -eu
# shellcheck source=tests/lib/daemon.inc.sh
. "$SOURCE/tests/lib/daemon.inc.sh"
as_root "$@"
commands=("queues" "queues --json" "top --once" "top --once --json")
if [ -z "${IN_A_WORLD:-}" ] && [ ! -e /sys/class/kfd ]; then
	for words in "${commands[@]}"; do
		# shellcheck disable=SC2086 # words
		refused 77 "there is no AMD GPU here" "$kfdsched" $words
	done
fi
in_a_world

start_daemon
offline_trace=$SOURCE/traces/offline_gemm4000_f32.csv
start_offline --seconds 600
within() {
	unshare --pid --fork --kill-child --mount-proc "$@"
}
for words in "${commands[@]}"; do
	# shellcheck disable=SC2086 # words
	refused 77 "the driver's pids are of another pid namespace, and no daemon listens at $work/none" within "$kfdsched" $words --socket "$work/none"
done
expect 0 within "$kfdsched" queues
printed "no queues"
expect 0 within "$kfdsched" top --once
