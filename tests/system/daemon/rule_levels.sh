#!/bin/bash
# SPDX-License-Identifier: MIT
# Proves: the level of a rule overrides that of the process: auto and self lead to level self,
# whether the process has a debug session on itself from the start (KFDSHIM_LEVEL=self) or opens one
# on command; the process is held and loses nothing. Only level trap is impossible for a process
# that keeps its own session: it is observed, and the status gives the reason.
set -eu
# shellcheck source=tests/lib/daemon.inc.sh
. "$SOURCE/tests/lib/daemon.inc.sh"
in_a_world

# rule LEVEL: puts a rule with this level for all processes into force.
rule() {
	local before
	before=$(grep -c "reloaded, in force" "$work/log" || true)
	{
		cat "$work/patient.ini"
		printf '[rule all]\nshim = yes\nlevel = %s\n' "$1"
	} >"$work/rules.ini"
	kill -HUP "$daemon"
	until_true 50 read_again "$before" || fail "no reload"
}
read_again() {
	[ "$(grep -c "reloaded, in force" "$work/log" || true)" -gt "$1" ]
}
# comes OWN LEVEL REASON: a process with KFDSHIM_LEVEL=OWN gets to LEVEL.
comes() {
	offline_level=$2
	KFDSHIM_LEVEL=$1 start_offline --seconds 600
	until_true 50 says ".processes[]|select(.pid == $offline)|.rule == \"all\" and (.reason|test(\"$3\"))" ||
		fail "$1 at $2, not because '$3': $(status | jq -c .processes)"
}
held() {
	suspend_offline
	send off
	until_true 50 state_is "$offline" running || fail "not released"
	end_offline
}

cp "$work/patient.ini" "$work/rules.ini"
daemon_options=(--config "$work/rules.ini")
start_daemon
online_priority=9
start_online

rule auto
comes self self 'holds itself.*KFDSHIM_LEVEL=self'
grep -q "process $offline .*level self: it holds itself" "$work/log" || fail "the log does not say it"
held
rule self
comes auto self '^$'
"$kfdsched" status "$offline" --dump --json | jq -e .client_shm.own_session >/dev/null || fail "no session on itself"
held
rule trap
comes self observe 'keeps its debug session .KFDSHIM_LEVEL=self.'
send on
sleep 0.3
state_is "$offline" running || fail "held although its level is observe"
says '.totals.failures == 0 and .totals.suspends == 2' || fail "suspends: $(status | jq -c .totals)"
