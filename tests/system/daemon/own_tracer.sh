#!/bin/bash
# SPDX-License-Identifier: MIT
# Proves: under Linux before 6.12.103 a process at level trap cannot be traced by another process,
# because the daemon traces it; with KFDSHIM_LEVEL=self it can, and is suspended all the same. Under
# later kernels it can be traced at level trap, too.
set -eu
# shellcheck source=tests/lib/daemon.inc.sh
. "$SOURCE/tests/lib/daemon.inc.sh"
as_root "$@"
# shellcheck disable=SC2154 # of the environment
world_options+=(--kernel "$kernel")
in_a_world

# strace_holds: strace traces the process.
strace_holds() {
	[ "$(proc_status "$offline" TracerPid)" = "$debugger" ]
}
# can_be_traced: strace can attach, and detaches again.
can_be_traced() {
	strace -o "$work/strace" -e trace=none -p "$offline" 2>"$work/said" &
	debugger=$!
	children+=("$debugger")
	until_true 50 strace_holds || fail "strace cannot attach: $(cat "$work/said")"
	suspend_and_resume "$offline"
	kill -TERM "$debugger"
	until_true 50 has_ended "$debugger" || fail "strace does not end"
}

start_daemon
start_online
start_offline --seconds 600
if [ "$kernel" = 6.12.95 ]; then
	expect 1 strace -o "$work/strace" -e trace=none -p "$offline"
	said "Operation not permitted"
else
	can_be_traced
fi
kill -KILL "$offline"
export KFDSHIM_LEVEL=self
offline_level=self
start_offline --seconds 600
can_be_traced
