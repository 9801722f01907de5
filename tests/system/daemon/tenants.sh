#!/bin/bash
# SPDX-License-Identifier: MIT
# Proves: nobody preempts another user's process, or one of another pid
# namespace although the user is the same; the same user in the same one does.
set -eu
# shellcheck source=tests/lib/daemon.inc.sh
. "$SOURCE/tests/lib/daemon.inc.sh"
as_root "$@"
in_a_world

# foreign NAME COMMAND...: a client that COMMAND starts is active until we have looked.
foreign() {
	local name=$1
	shift
	rm -f "$work/seen" "$work/said"
	: >"$work/said" # it is looked at before its writer is there
	{
		echo on
		until_true 300 test -e "$work/seen" || true
	} | "$@" "$work/lane_client" "$KFDSHIM_SOCKET" 15 "$(gpu_id)" >"$work/said" &
	until_true 100 grep -qx on "$work/said" || fail "$name: no such client"
	until_true 100 says "any(.processes[]; .priority == 15 and .active)" ||
		fail "$name: not seen to be active"
	sleep 0.5 # in which it would
	says ".totals.suspends == 0" || fail "$name: it preempted"
	touch "$work/seen"
	wait $!
	until_true 100 says "all(.processes[]; .priority != 15)" || fail "$name: still there"
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
