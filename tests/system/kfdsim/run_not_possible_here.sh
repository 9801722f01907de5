#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Proves: if the kernel or the rights do not allow a simulation, kfdsim ends with 77 and one line that
# says what is missing and what to do, and leaves nothing behind.
set -eu
# shellcheck source=tests/lib/kfdsim.inc.sh
. "$SOURCE/tests/lib/kfdsim.inc.sh"

outside >"$work/before"
expect 77 "$BUILD/run_deny" notification "$BUILD/kfdsim" --report "$work/r.json" -- touch "$work/started"
one_line 'no seccomp user notification' 'Linux 5.9'
expect 77 "$BUILD/run_deny" namespaces "$BUILD/kfdsim" --report "$work/r.json" -- touch "$work/started"
one_line 'cannot make namespaces' 'run kfdsim as root'
expect 77 "$BUILD/run_deny" mount "$BUILD/kfdsim" --report "$work/r.json" -- touch "$work/started"
one_line 'Operation not permitted'
virtual=("$BUILD/kfdsim" --virtual --report "$work/r.json" -- touch "$work/started")
expect 77 "$BUILD/run_deny" futex_waitv "${virtual[@]}"
one_line '--virtual needs the system call futex_waitv' 'Linux 5.16' 'use --real-time'
if [ "$(id -u)" = 0 ]; then
	# shellcheck disable=SC2016
	expect 77 unshare -m sh -c 'mount -t proc -o subset=pid proc /proc; exec "$@"' - "${virtual[@]}"
	one_line '--virtual needs /proc/loadavg' 'subset=pid' 'use --real-time'
fi
[ ! -e "$work/started" ] || fail "the command ran"
[ ! -e "$work/r.json" ] || fail "a report without a world"
outside >"$work/after"
cmp "$work/before" "$work/after"
