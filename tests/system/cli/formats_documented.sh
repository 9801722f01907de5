#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Proves: docs/reference describes every key that status, status PID --dump, queues, doctor, policy,
# events and the control requests print as JSON, in the section of that command (or of what it
# repeats).
set -eu
# shellcheck source=tests/lib/daemon.inc.sh
. "$SOURCE/tests/lib/daemon.inc.sh"
as_root "$@"
in_a_world

# section TITLE: prints the text of docs/reference under the heading that begins with TITLE.
section() {
	awk -v title="## $1" 'FNR == 1 {on = 0} /^## /{on = index($0, title) == 1} on' "$SOURCE"/docs/reference/*.md
}

# documented NAME LEAST SECTION...: one of the sections has each key of $work/NAME.json. There are
# at least LEAST keys, because an empty list would prove nothing.
documented() {
	local name=$1 least=$2 key n=0
	shift 2
	for title in "$@"; do
		section "$title" | grep . || fail "docs/reference has no section '$title'"
	done >"$work/$name.doc"
	# The index describes the parts of a histogram.
	sed -n '/A histogram is/p' "$SOURCE/docs/reference/README.md" >>"$work/$name.doc"
	while read -r key; do
		grep -q "\"$key\"" "$work/$name.doc" || fail "$name: \"$key\" is not described in '$*'"
		n=$((n + 1))
	done < <(jq -r '[paths | .[] | strings] | unique[]' "$work/$name.json")
	[ "$n" -ge "$least" ] || fail "$name: only $n keys"
}

start_daemon
export KFDSHIM_LEVEL=gate
offline_level=gate
start_offline --seconds 600
start_online
# There is something of everything: a hold command, queues, events, a busy node.
suspend_offline
has_hold_cmd() {
	"$kfdsched" status "$offline" --dump --json >"$work/dump.json" &&
		jq -e '.client_shm.hold_cmd != null and (.client_shm.events | length) > 0 and
			(.client_shm.queues | length) > 0' "$work/dump.json" >/dev/null
}
until_true 50 has_hold_cmd || fail "no hold command in the dump"
status >"$work/status.json"
"$kfdsched" queues --json >"$work/queues.json"
"$kfdsched" doctor --json >"$work/doctor.json"
"$kfdsched" policy --json >"$work/policy.json"
"$kfdsched" events --follow --json >"$work/followed" &
children+=($!)
until_true 50 test -s "$work/followed" || fail "no events"
{
	"$kfdsched" suspend "$offline" --for 9 --json
	"$kfdsched" set "$offline" 3 --json
	"$kfdsched" resume "$offline" --json
} | jq -s . >"$work/orders.json"
"$kfdsched" policy observe
send off
has_policy() {
	grep -q '"policy"' "$work/followed"
}
until_true 50 has_policy || fail "no event of a policy"
jq -s . "$work/followed" >"$work/events.json"

documented status 40 "kfdsched status --json"
documented dump 60 "kfdsched status PID --dump --json" "kfdsched status --json" "A GPU as kfdsched names it"
documented queues 20 "kfdsched queues --json" "A queue as kfdsched sees it" "A GPU as kfdsched names it"
documented policy 5 "kfdsched policy --json"
documented orders 6 "Orders: kfdsched suspend"
documented events 12 "kfdsched events --json" "A GPU as kfdsched names it"
documented doctor 10 "kfdsched doctor --json" "A GPU as kfdsched names it"
schema status "$work/status.json"
schema status-dump "$work/dump.json"
schema doctor "$work/doctor.json"
schema policy "$work/policy.json"
