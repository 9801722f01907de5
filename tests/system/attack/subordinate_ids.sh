#!/bin/bash
# SPDX-License-Identifier: MIT
# Proves: the ids that /etc/subuid gives to one user count as that user: with 64 of them it has
# half of all connections at most, as with one.
set -eu
# shellcheck source=tests/lib/attack.inc.sh
. "$SOURCE/tests/lib/attack.inc.sh"
in_a_world

# In a user namespace there are 65536 ids.
first=100000
awk '{ids += $3} END {exit ids < 110000}' /proc/self/uid_map || first=40000
echo "$(id -nu "$attacker_id"):$first:64" >"$work/subids"
mount --bind "$work/subids" /etc/subuid
mount --bind "$work/subids" /etc/subgid

# The most that were open at a time.
most_open() {
	local open most=0
	chrt --rr --pid 2 "$BASHPID" 2>/dev/null || true
	while [ -e "$work/asking" ]; do
		open=$(status 2>/dev/null | jq '.daemon.connections.open') || continue
		[ "$open" -le "$most" ] || most=$open
		sleep 0.1
	done
	echo "$most" >"$work/most_open"
}
begin
newcomers_must_come
room=$(status | jq '.daemon.connections.room')
# As root, which plays the user's container.
as_attacker() {
	"$@"
}
touch "$work/asking"
most_open &
children+=("$!")
attack subordinate_ids connect_loop 8 "$first"
until_true 50 test -s "$work/most_open" || fail "the connections were not counted"
most=$(cat "$work/most_open")
echo "subordinate_ids: at most $most connections of $room were open"
# Those of root, of the third user, and of what is here.
[ "$most" -le $((room / 2 + 16)) ] ||
	problem "subordinate_ids: $most of $room connections were open, but one user has half at most"
finish
