#!/bin/bash
# SPDX-License-Identifier: MIT
# Proves: a client does not preempt the process of another user, or of another pid namespace
# although the user is the same; a client of the same user in the same one does.
set -eu
# shellcheck source=tests/lib/daemon.inc.sh
. "$SOURCE/tests/lib/daemon.inc.sh"
as_root "$@"
in_a_world

# foreign NAME COMMAND...: COMMAND starts a client that is active until it was checked.
foreign() {
	local name=$1
	shift
	rm -f "$work/seen" "$work/said"
	: >"$work/said" # grep reads it before the client has written
	{
		echo on
		until_true 300 test -e "$work/seen" || true
	} | "$@" "$work/lane_client" "$KFDSHIM_SOCKET" 15 "$(gpu_id)" >"$work/said" &
	until_true 100 grep -qx on "$work/said" || fail "$name: the client has not started"
	until_true 100 says "any(.processes[]; .priority == 15 and .active)" ||
		fail "$name: not seen to be active"
	sleep 0.5 # time enough for a suspend
	says ".totals.suspends == 0" || fail "$name: it preempted"
	touch "$work/seen"
	wait $!
	until_true 100 says "all(.processes[]; .priority != 15)" || fail "$name: the client is still listed"
}

cp "$BUILD/lane_client" "$work"
chmod 755 "$work"
start_daemon
start_offline --seconds 600
foreign "another user" setpriv --reuid 65534 --clear-groups
foreign "another pid namespace" unshare --pid --fork
foreign "another user namespace" unshare --user --map-root-user
start_online
suspend_offline
