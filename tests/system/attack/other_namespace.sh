#!/bin/bash
# SPDX-License-Identifier: MIT
# Proves: neither root of a container, which got a pidfd of a process outside of it, nor a user
# that has the number of the admin group in a user namespace can order anything about that process.
set -eu
# shellcheck source=tests/lib/attack.inc.sh
. "$SOURCE/tests/lib/attack.inc.sh"
in_a_world

# Of the daemon's user namespace, and no group of the attackers in it.
group=4242
printf '[authority]\nadmin_group = %s\n' $group >>"$work/patient.ini"

# What an order about it would change.
state() {
	status | jq -c ".processes[]|select(.pid == $offline)|[.suspends, .priority, .lease_us]"
}
# orders KIND COMMAND...: COMMAND runs the attacker.
orders() {
	local kind=$1 code=0 before
	shift
	before=$(state)
	start_asking
	"$@" "$work/attack_other_namespace" "$KFDSHIM_SOCKET" "$offline" "$kind" $group \
		>"$work/attacker" 2>&1 || code=$?
	end_asking
	sed "s/^/$kind: attacker: /" "$work/attacker"
	case $code in
	0) ;;
	3) problem "$kind: obeyed: $(grep -c obeyed "$work/attacker") orders" ;;
	*) fail "$kind: the attacker ended with $code" ;;
	esac
	[ "$(state)" = "$before" ] || problem "$kind: it was $before, and is $(state)"
	[ "$unanswered" -eq 0 ] || problem "$kind: $unanswered of $asked questions were not answered within 1 s"
	until_true 100 state_is "$offline" running || problem "$kind: it stays suspended"
}

begin
"$kfdsched" set "$offline" 3 >/dev/null || fail "the daemon's own root cannot order"
orders container
orders user as_attacker
orders mapped_group as_attacker
orders lent_group
judge other_namespace
finish
