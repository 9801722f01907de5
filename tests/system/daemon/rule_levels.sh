#!/bin/bash
# SPDX-License-Identifier: MIT
# Proves: a rule's level counts for a process that says another one itself: auto and self
# come to level self, whether the process has a debug session on itself from the start
# (KFDSHIM_LEVEL=self) or has to be told to open one; it is held, and loses nothing. Only
# trap is not to be had from who gives his session to nobody: he is observed, and the
# status says why.
set -eu
# shellcheck source=tests/lib/daemon.inc.sh
. "$SOURCE/tests/lib/daemon.inc.sh"
in_a_world

# rule LEVEL: it is for all that come from now on.
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
# comes OWN LEVEL REASON: a process that says OWN comes to LEVEL.
comes() {
	offline_level=$2
	KFDSHIM_LEVEL=$1 start_offline --seconds 600
	until_true 50 says ".processes[]|select(.pid == $offline)|.rule == \"all\" and (.reason|test(\"$3\"))" ||
		fail "$1 at $2, not because '$3': $(status | jq -c .processes)"
}
held() {
	suspend_offline
	send off
	until_true 50 state_is "$offline" running || fail "not let go"
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
state_is "$offline" running || fail "held by nobody knows what"
says '.totals.failures == 0 and .totals.suspends == 2' || fail "suspends: $(status | jq -c .totals)"
