#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Proves: kfdsched import-log prints the expected tables for the logs of HIP 5.2.3, 6.4.3 and 7.2.4
# (tests/system/cli/logs). The JSON keeps to its schema, and the Python literal is the same data.
# --pid selects one of several processes whose lines are mixed. stdin, CRLF, colours and prefixes of
# other programs change nothing. Logs that are cut, binary, endless or hostile are read as far as
# they are valid; what exceeds the limits is reported; after Ctrl-C it prints what it has read.
set -eu
# shellcheck source=tests/lib/harness.inc.sh
. "$SOURCE/tests/lib/harness.inc.sh"
logs=$SOURCE/tests/system/cli/logs

import() {
	"$kfdsched" import-log "$@"
}
# adds_up FILE: the tables are those of the log of HIP 7.2.4.
adds_up() {
	expect 0 import "$@"
	diff -u "$logs/hip-7.2.4.golden" "$work/out" || fail "not the tables of the plain log: $*"
}

for log in 5.2.3 6.4.3 7.2.4 between; do
	expect 0 import "$logs/hip-$log.log"
	diff -u "$logs/hip-$log.golden" "$work/out" || fail "not the expected tables of $log"
	[ "$log" = between ] || [ ! -s "$work/err" ] || fail "$log: stderr is not empty"
	expect 0 import --json "$logs/hip-$log.log"
	jq -ce 'select(.complete and .processes[0].pid > 0)' "$work/out" >>"$work/json" || fail "$log: JSON"
	cp "$work/out" "$work/$log.json"
done
expect 0 import --format python "$logs/hip-6.4.3.log"
python3 -c 'import ast, json, sys
sys.exit(ast.literal_eval(open(sys.argv[1]).read()) != json.load(open(sys.argv[2])))' \
	"$work/out" "$work/6.4.3.json" || fail "Python's is not JSON's"
# 5.2 logs no ring and no pointers.
jq -e '[.processes[].queues[]] | length == 4 and all(.ring_address == null and .wptr == null and
	.hsa_queue != null)' "$work/5.2.3.json" >/dev/null || fail "5.2.3 has values that its log does not have"
jq -e '.processes[0].threads[0] | .copies == 8 and .copied_bytes == null' "$work/5.2.3.json" >/dev/null ||
	fail "copies of 5.2.3, which have no size"
# The mask of SDMA engines, also of the first one and the second one alone; 0: the runtime chooses.
for engines in 1 2 12 0; do
	grep -v 'copy_engine=' "$logs/hip-7.2.4.log" >"$work/engines"
	copy=":4:rocblit.cpp              :549 : 26103349929 us: [pid:2 tid: 0x7f6f87b76740] HSA Copy copy_engine=0x"
	printf '%s%s, size=1, completion_signal=0x1\n' "$copy" "${engines:0:1}" >>"$work/engines"
	[ ${#engines} = 1 ] || printf '%s%s, size=1, completion_signal=0x1\n' "$copy" "${engines:1}" >>"$work/engines"
	expect 0 import --json "$work/engines"
	jq -r '.processes[0].threads[0].copy_engines' "$work/out"
done >"$work/masks"
[ "$(tr '\n' ' ' <"$work/masks")" = '0x1 0x2 0x3 null ' ] || fail "masks of SDMA engines: $(cat "$work/masks")"
# 5.6 to 6.1 do not log which queue has which ring: the tables list them separately, with a note.
expect 0 import "$logs/hip-between.log"
said "but do not relate them"

# At level 3 newer versions log no process and no packets: this is reported, and no value is 0.
grep -E '^:[123]:' "$logs/hip-7.2.4.log" | sed -E 's/\[pid:[^]]*\]//' >"$work/three"
expect 0 import --json "$work/three"
said "name no process and no thread"
said "the log has no packets"
jq -c . "$work/out" >>"$work/json"
jq -e '.processes | length == 1 and (.[0] | .pid == null and .threads[0].thread == null and
	(.queues | length == 5 and all(.dispatches == null)))' "$work/out" >/dev/null || fail "level 3"

# Lines of two processes alternate.
sed 's/\[pid:2 /[pid:77 /' "$logs/hip-6.4.3.log" | paste -d '\n' - "$logs/hip-7.2.4.log" >"$work/both"
for pid in 2 3; do
	import --pid $pid --json "$logs/hip-7.2.4.log" 2>/dev/null | jq .processes >"$work/alone"
	import --pid $pid --json "$work/both" 2>/dev/null | jq .processes >"$work/mixed"
	[ $pid = 3 ] || diff "$work/alone" "$work/mixed" || fail "of the process alone, and among others"
done
jq -e 'length == 1 and .[0].pid == 3' "$work/alone" >/dev/null || fail "--pid 3"
jq -e 'length == 1 and (.[0].queues | length == 2)' "$work/mixed" >/dev/null ||
	fail "both logs have a process 3"
refused 1 "no line of process 99" import --pid 99 "$work/both"

# The same log, in other forms.
log=$logs/hip-7.2.4.log
adds_up - <"$log"
sed 's/$/\r/' "$log" >"$work/crlf"
adds_up "$work/crlf"
sed "s/^/$(printf '\033[33m')/; s/\$/$(printf '\033[0m')/" "$log" >"$work/colours"
adds_up "$work/colours"
sed 's/^/[1,0]<stderr>:2026-11-22T18:19:58.123Z pod-7 /' "$log" >"$work/prefixed"
adds_up "$work/prefixed"
awk '{print; print "loss: 0.1 :3:"; printf "...."}' "$log" >"$work/mixed"
adds_up "$work/mixed"
{
	head -c 300000 /dev/urandom
	printf '\n'
	cat "$log"
	head -c 100000 /dev/zero
} >"$work/binary"
adds_up "$work/binary"
{
	head -c 3000000 /dev/zero | tr '\0' ':'
	printf '\n'
	cat "$log"
} >"$work/long"
adds_up "$work/long"
expect 0 import --json "$work/long"
jq -e --argjson lines "$(wc -l <"$log")" '.cut_lines == 1 and .lines == $lines + 1' "$work/out" >/dev/null ||
	fail "a line of 3 MB"
# A log that is cut anywhere is read up to there.
for bytes in 4000 9999 20000; do
	head -c $bytes "$log" >"$work/cut"
	expect 0 import "$work/cut"
done

# These files are not logs.
refused 1 "No such file" import "$work/none"
refused 1 "Is a directory" import "$work"
: >"$work/empty"
refused 1 "is empty" import "$work/empty"
head -c 1000000 /dev/urandom >"$work/noise"
refused 1 "no line of a HIP log" import "$work/noise"
expect 1 import "$work/$(printf 'a\033[2Jb')"
! grep -q "$(printf '\033')" "$work/err" || fail "a file's name reaches the terminal as it is"
expect 2 import
expect 2 import "$log" "$log"
expect 2 import --pid x "$log"
expect 2 import --format xml "$log"
said "--format takes table, json or python, not 'xml'"

# Hostile: text of an error, endless numbers, the same addresses again and again.
prefix=':0:rocdevice.cpp            :1    : 5 us: [pid:9 tid: 0x1] '
{
	printf '%sCallback: Queue 0x7f00 aborting with error : \033[2Jgone code: 0x29\n' "$prefix"
	printf '%sSWq=0x9999999999999999999, HWq=0x1, id=99999999999999999999999, Dispatch Header = 1, rptr=9, wptr=999999999999999999\n' "$prefix"
	printf '%sHSA Copy dst=0x1, src=0x2, size=999999999999999999, completion_signal=0x0\n' "$prefix"
} >"$work/hostile"
for format in table json python; do
	expect 0 import --format $format "$work/hostile"
	! grep -q "$(printf '\033')" "$work/out" || fail "a log's text reaches the terminal as it is"
done
expect 0 import --json "$work/hostile"
jq -c . "$work/out" >>"$work/json"
awk -v prefix="$prefix" 'BEGIN {
	for (i = 0; i < 9000; i++) {
		print prefix "Created SWq=0x7f00 to map on HWq=0x7e00 with size 64 with priority 1, cooperative: 0"
		print prefix "SWq=0x7f00, HWq=0x7e00, id=1, Dispatch Header = 0x1, rptr=0, wptr=0"
	}
}' >"$work/many"
expect 0 import "$work/many"
said "1616 lines are not counted: the limit is"
[ "$(grep -c ' 0x7f00 .* 0x7e00 .* normal ' "$work/out")" = 8192 ] ||
	fail "9000 queues, one after the other, in room for 8192"
schema import-log "$work/json" --lines

# A log that grows: it is read until SIGTERM.
mkfifo "$work/pipe"
"$kfdsched" import-log "$work/pipe" >"$work/out" 2>"$work/err" &
reader=$!
children+=("$reader")
exec 9>"$work/pipe"
cat "$log" >&9
# It has read everything when it sleeps on an empty pipe.
for _ in $(seq 100); do
	python3 - 9 <<'PYTHON' && break
import array, fcntl, sys, termios
left = array.array("i", [0])
fcntl.ioctl(int(sys.argv[1]), termios.FIONREAD, left)
sys.exit(left[0] != 0)
PYTHON
	sleep 0.05
done
# A shell has its children ignore SIGINT.
kill -TERM "$reader"
wait "$reader" || fail "Ctrl-C: $?"
exec 9>&-
said "stopped after"
diff -u "$logs/hip-7.2.4.golden" "$work/out" || fail "not what was read until Ctrl-C"
