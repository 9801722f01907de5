#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Proves: if colocate gets SIGTERM or SIGINT in the middle of an arm, it ends all that it has
# started and removes its directory; if it is killed, its processes end, too.
set -eu
# shellcheck source=tests/lib/harness.inc.sh
. "$SOURCE/tests/lib/harness.inc.sh"
# shellcheck source=tests/lib/cli_colocate.inc.sh
. "$SOURCE/tests/lib/cli_colocate.inc.sh"

begin() { # leaves the process id in $run, with a trap arm under way
	rm -f "$FAKE_DIR"/*
	# A job in the background would ignore SIGINT: env gives it back.
	env --default-signal=INT "$kfdsched" colocate "${traces[@]}" --seconds 60 --arms trap \
		--json "$work/report.json" >"$work/out" 2>"$work/err" &
	run=$!
	for _ in $(seq 200); do
		# A fork of a stand-in counts as one more until it is another program.
		pids=$(companions)
		[ "$(wc -l 2>/dev/null <"$FAKE_DIR/questions" || echo 0)" -lt 3 ] ||
			[ "$(wc -w <<<"$pids")" != 3 ] || return 0
		sleep 0.05
	done
	fail "not a daemon and two clients: $pids"
}

for signal in TERM INT HUP; do
	begin
	kill -s "$signal" "$run"
	got=0
	wait "$run" || got=$?
	[ "$got" = 1 ] || fail "SIG$signal: exit code $got"
	said "stopped by SIG$signal"
	[ ! -e "$work/report.json" ] || fail "a report of an unfinished run"
	nothing_left
done

begin
kill -s KILL "$run"
wait "$run" || true
rm -rf "${TMPDIR:?}"/kfdsched-*
nothing_left
