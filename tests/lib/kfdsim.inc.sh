# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# What a world of kfdsim leaves behind, and what its report says. Brings the harness.
# shellcheck source=tests/lib/harness.inc.sh
. "$SOURCE/tests/lib/harness.inc.sh"

# Processes are found by a mark in their environment, whatever they became.
mark=KFDSIM_TEST_MARK=$work
marked() {
	# Some are gone before grep comes to them: its status says nothing.
	grep -lzsFx -- "$mark" /proc/[0-9]*/environ || true
}
none_marked() {
	[ -z "$(marked)" ]
}
# What a world could leave behind outside. The thunk's own files in /dev/shm come
# and go with any ROCm process of this machine.
outside() {
	cat /proc/self/mountinfo
	ls -A -I '*hsakmt_*' /run /dev /dev/shm /sys/class
}

report=$work/report.json
# virtual_time FILTER...: each is true of what the report says of virtual time.
virtual_time() {
	jq .virtual "$report" >"$work/virtual.json"
	holds "$work/virtual.json" "$@"
}
# queues FILTER...: each is true of the list of all queues in the report.
queues() {
	jq '[.processes[].queues[]]' "$report" >"$work/queues.json"
	holds "$work/queues.json" "$@"
}
