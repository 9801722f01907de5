#!/bin/bash
# SPDX-License-Identifier: MIT
# Proves: what a configuration file may not say is told with file and line and
# what is allowed, exit code 2; what it may say counts.
set -eu
# shellcheck source=tests/daemon/daemon.inc.sh
. "$SOURCE/tests/daemon/daemon.inc.sh"

# bad LINE TEXT CONTENT
bad() {
	local code=0
	printf '%b' "$3" >"$work/bad.ini"
	"$BUILD/kfdschedd" --foreground --config "$work/bad.ini" --socket "$KFDSHIM_SOCKET" \
		2>"$work/err" || code=$?
	[ "$code" -eq 2 ] || fail "$3: exit code $code"
	[ "$(wc -l <"$work/err")" -eq 1 ] || fail "$3: not one line"
	grep -qF "$work/bad.ini:$1: " "$work/err" || fail "$3: $(cat "$work/err")"
	grep -qF "$2" "$work/err" || fail "$3: $(cat "$work/err")"
}

bad 2 "known are slow_suspend_us" '[scheduler]\nslow_suspend = 5\n'
bad 3 "1..60000000" '[scheduler]\n# a comment\nslow_suspend_us = 0\n'
bad 2 "whole number of microseconds" '[scheduler]\nslow_suspend_us = 50ms\n'
bad 2 "1000..3600000000" '[scheduler]\nmax_suspended_us = -1\n'
bad 2 "0..60000000" '[scheduler]\nmin_run_us = 99999999999999999999\n'
bad 2 "[scheduler]" '[sched]\nmin_run_us = 1\n'
bad 2 "key = value" '[scheduler]\nnonsense\n'
code=0
"$BUILD/kfdschedd" --config "$work/none" 2>"$work/err" || code=$?
[ "$code" -eq 2 ] || fail "missing file: exit code $code"
grep -qF "$work/none: No such file" "$work/err" || fail "$(cat "$work/err")"

printf '[scheduler]\nslow_suspend_us = 123456\n' >"$work/good.ini"
daemon_options=(--config "$work/good.ini")
start_daemon
until_true 50 says '.daemon.slow_suspend_us == 123456' || fail "the value does not count"
