#!/bin/bash
# SPDX-License-Identifier: MIT
# Proves: one user preempts another's process with a grant only, in the direction that it
# names, from the moment that it is in force until it is not; a rule gives no such right.
set -eu
# shellcheck source=tests/lib/clients.inc.sh
. "$SOURCE/tests/lib/clients.inc.sh"
as_root "$@"

start_clients
client urgent 65001 15 auto
client other 65002 9 gate
say urgent on
say other on
free other "without a grant"
reload '[rule up]' 'uid = 65001' 'priority = 15' '[rule down]' 'uid = 65002' 'priority = 1'
free other "by rules, which give no right over another user's process"
reload '[authority]' 'grant = uid 65002 over uid 65001'
free other "by the grant of the one below"
reload '[authority]' 'grant = uid 65001 over uid 65003'
free other "by a grant over somebody else"
obeys other
reload '[authority]' 'grant = uid 65001 over uid 65002'
obeyed other # to hold
until_true 50 state_is "${pid[other]}" suspended || fail "not held"
obeys other
reload '[authority]' 'grant = uid 65001 over gid 4711'
obeyed other # to go on
until_true 50 state_is "${pid[other]}" running || fail "held without a grant"
# Not the other way round, with the same grant.
obeys other
reload '[authority]' 'grant = uid 65001 over all'
obeyed other
obeys other
say urgent "priority 1"
obeyed other
until_true 50 says "all(.processes[]; .state == \"running\")" || fail "held by one below"
until_true 50 says ".processes[]|select(.pid == ${pid[urgent]})|.suspends == 0" || fail "the grant has two ways"
