#!/bin/bash
# SPDX-License-Identifier: MIT
# Proves: however many processes with however many queues ask for each other's status and do
# not read it, root's status takes less than a second, a third user's workloads are let in as
# soon, and what lies unread is bounded.
set -eu
# shellcheck source=tests/lib/attack.inc.sh
. "$SOURCE/tests/lib/attack.inc.sh"
in_a_world

# KiB. Unread answers of one user, and the daemon's processes with the lanes of 100 workloads.
unread_limit=16384
memory_limit=32768

begin
newcomers_must_come
attack memory_of_answers memory_of_answers 8
unread=$(sed -n 's/.* \([0-9]*\) KiB of answers unread/\1/p' "$work/attacker")
[ "$unread" -le $unread_limit ] ||
	problem "memory_of_answers: $unread KiB of answers were unread, more than $unread_limit"
[ "$peak_memory" -le $((usual_memory + memory_limit)) ] ||
	problem "memory_of_answers: the daemon had $peak_memory KiB, $memory_limit more than before"
finish
