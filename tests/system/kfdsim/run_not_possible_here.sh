#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Where the kernel or the rights do not allow a world: 77, one line with what
# is missing and what to do, nothing left.
set -eu
# shellcheck source=tests/lib/run.inc.sh
. "$SOURCE/tests/lib/run.inc.sh"

outside >"$DIR/before"
expect 77 "$BUILD/run_deny" notification "$KFDSIM" --report "$DIR/r.json" -- touch "$DIR/started"
said 'no seccomp user notification' 'Linux 5.9'
expect 77 "$BUILD/run_deny" namespaces "$KFDSIM" --report "$DIR/r.json" -- touch "$DIR/started"
said 'cannot make namespaces' 'run kfdsim as root'
expect 77 "$BUILD/run_deny" mount "$KFDSIM" --report "$DIR/r.json" -- touch "$DIR/started"
said 'Operation not permitted'
virtual=("$KFDSIM" --virtual --report "$DIR/r.json" -- touch "$DIR/started")
expect 77 "$BUILD/run_deny" futex_waitv "${virtual[@]}"
said '--virtual needs the system call futex_waitv' 'Linux 5.16' 'use --real-time'
if [ "$(id -u)" = 0 ]; then
	# shellcheck disable=SC2016
	expect 77 unshare -m sh -c 'mount -t proc -o subset=pid proc /proc; exec "$@"' - "${virtual[@]}"
	said '--virtual needs /proc/loadavg' 'subset=pid' 'use --real-time'
fi
[ ! -e "$DIR/started" ] || fail "the command ran"
[ ! -e "$DIR/r.json" ] || fail "a report without a world"
outside >"$DIR/after"
cmp "$DIR/before" "$DIR/after"
