# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# Two tenants, each with an offline process at level trap: $mine, of this pid namespace, and
# $other, of one of its own. `stuck PID`: from then on the daemon's driver calls on that
# process wait in state D, where nothing can be killed, until `unstuck`.
# shellcheck source=tests/lib/daemon.inc.sh
. "$SOURCE/tests/lib/daemon.inc.sh"
world_options+=(--time-scale "${scale:-1}")
in_a_world

release() {
	umount -l "$work/file" 2>/dev/null || true
}
at_end+=(release)

start_two_tenants() {
	mkdir "$work/stuck"
	: >"$work/file"
	[ -e /dev/fuse ] || mknod -m 600 /dev/fuse c 10 229 2>/dev/null || true
	coproc file { exec "$BUILD/stuck_file" "$work/file"; }
	# shellcheck disable=SC2154 # set by coproc
	server=$file_PID
	children+=("$server")
	# shellcheck disable=SC2154
	read -r -t 10 answer <&"${file[0]}" || fail "no FUSE file system; may this user open /dev/fuse?"
	[ "$answer" = ready ] || fail "stuck_file: $answer"
	printf '[authority]\ngrant = uid 0 over all\n' >>"$work/patient.ini"
	start_stuck_daemon
	start_one
	mine=$!
	start_one unshare --pid --fork --kill-child
	until_true 100 has_level_trap 2 || fail "no two tenants: $(status | jq -c .processes)"
	# shellcheck disable=SC2034 # the tests use it
	other=$(status | jq ".processes[]|select(.pid != $mine).pid")
	start_online
}

# start_one COMMAND...: an offline process that COMMAND starts: $!
start_one() {
	LD_PRELOAD=$BUILD/libkfdshim.so KFDSHIM_PRIORITY=offline "$@" "$BUILD/kfdreplay" \
		--trace "$offline_trace" --closed --seconds 600 >/dev/null 2>>"$work/log" &
	children+=("$!")
}

has_level_trap() {
	says "[.processes[]|select(.level == \"trap\")]|length == $1"
}

start_stuck_daemon() {
	local preload=${LD_PRELOAD:-}
	export STUCK=$work/stuck LD_PRELOAD=$BUILD/libstuck_ioctl.so
	start_daemon
	export LD_PRELOAD=$preload
}

stuck() {
	ln -s "$work/file" "$work/stuck/$1"
}

# Waits until a driver call reads the file.
wait_until_stuck() {
	read -r -t 30 answer <&"${file[0]}" || fail "no driver call has come to the file"
	[ "$answer" = read ] || fail "stuck_file: $answer"
}

# is_stuck: a thread of the daemon waits in a driver call although it was killed.
is_stuck() {
	awk 'BEGIN {code = 1} /^[0-9]+ \(kfdschedd.*\) D / {code = 0} END {exit code}' \
		/proc/[0-9]*/task/[0-9]*/stat 2>/dev/null
}

unstuck() {
	rm -f "$work"/stuck/*
	kill -KILL "$server"
	umount "$work/file"
}

# at PID LEVEL: the status has the process at that level.
at() {
	says "any(.processes[]; .pid == $1 and .level == \"$2\")"
}
