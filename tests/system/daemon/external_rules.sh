#!/bin/bash
# SPDX-License-Identifier: MIT
# Proves: a rule with shim = no tags processes without the shim by itself, and those alone;
# an order counts instead of it; and whom a new configuration does not name is let go.
set -eu
# shellcheck source=tests/lib/daemon.inc.sh
. "$SOURCE/tests/lib/daemon.inc.sh"
as_root "$@"
# shellcheck source=tests/lib/external.inc.sh
. "$SOURCE/tests/lib/external.inc.sh"
# Two processes that fill a GPU at full speed are more than two cores can simulate: the
# daemon's suspends would wait for the model.
world_options+=(--time-scale 0.1)
in_a_world

# configure LINES: as the configuration from now on.
configure() {
	{
		cat "$work/patient.ini"
		printf '%b' "$1"
	} >"$work/rules.ini"
}

configure '[rule replays]\nshim = no\nexecutable = '"$BUILD"'/kfdreplay\npriority = 3\n'
daemon_options=(--config "$work/rules.ini")
start_daemon
start_online
start_offline --seconds 600
start_target --seconds 600
until_true 100 about "$target" '.level == "trap" and .shim == false and .priority == 3' ||
	fail "the rule does not tag it: $(status | jq -c .processes)"
about "$offline" '.shim and .priority == 2' || fail "the rule concerns who has the shim"
send on
until_true 50 state_is "$target" suspended || fail "not suspended"
until_true 50 state_is "$offline" suspended || fail "the other is not suspended"

must_tag "$target" none
until_true 50 is_untraced "$target" || fail "it is still traced"
for _ in 1 2 3 4; do
	sleep 0.4 # a look or two
	says ".processes|all(.pid != $target)" || fail "the rule counts against an order"
done
must_tag "$target" own
until_true 50 about "$target" '.priority == 3 and .rule == "replays"' || fail "the rule does not count again"

configure '[rule replays]\nshim = no\nexecutable = '"$BUILD"'/kfdreplay\npriority = 1\n'
kill -HUP "$daemon"
until_true 50 about "$target" '.priority == 1' || fail "the new priority: $(status | jq -c .processes)"
until_true 50 state_is "$target" suspended || fail "not suspended again"
configure '[rule replays]\nshim = yes\nexecutable = '"$BUILD"'/kfdreplay\npriority = 1\n'
kill -HUP "$daemon"
until_true 50 says ".processes|all(.pid != $target)" || fail "no rule names it, and it is there"
until_true 50 is_untraced "$target" || fail "it is traced without a rule"
