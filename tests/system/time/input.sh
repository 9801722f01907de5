#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# While a world waits for its standard input its time stands still, and it uses hardly any CPU
# time; then it goes on.
set -eu
# shellcheck source=tests/lib/run.inc.sh
. "$SOURCE/tests/lib/run.inc.sh"

report=$DIR/report.json
mkfifo "$DIR/in"
cpu_ms() {
	awk -v hz="$(getconf CLK_TCK)" '{ sub(/.*\) /, ""); print int(($12 + $13) * 1000 / hz) }' \
		"/proc/$1/stat"
}

"$KFDSIM" --virtual --set host_wake_us=0 --report "$report" -- \
	"$BUILD/time_spins" virtual reads <"$DIR/in" >"$DIR/out" &
pid=$!
exec 5>"$DIR/in"
wait_for 60 grep -q waits "$DIR/out"
before=$(cpu_ms $pid)
sleep 4
used=$(($(cpu_ms $pid) - before))
printf x >&5
exec 5>&-
wait $pid || fail "$? $(cat "$DIR/out")"
jq -e '.virtual | .seconds == 2 and .waits > 0 and .forced == 0' "$report" >/dev/null ||
	fail "$(jq -c .virtual "$report")"
[ "$used" -lt 100 ] || fail "it used $used ms of CPU in 4 s"
echo "$used ms of CPU in 4 s"
