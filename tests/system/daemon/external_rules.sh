#!/bin/bash
# SPDX-License-Identifier: MIT
# Proves: a rule with shim = no tags processes without the shim, and only those. `kfdsched set`
# overrides the rule. A process that no rule of a new configuration names is released.
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

# configure LINE...: puts these lines into force as the configuration.
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
about "$offline" '.shim and .priority == 2' || fail "the rule applies to a process with the shim"
send on
until_true 50 state_is "$target" suspended || fail "not suspended"
until_true 50 state_is "$offline" suspended || fail "the other is not suspended"

must_tag "$target" none
until_true 50 is_untraced "$target" || fail "the process is still traced"
for _ in 1 2 3 4; do
	sleep 0.4 # the daemon looks for such processes meanwhile
	says ".processes|all(.pid != $target)" || fail "the rule overrides 'kfdsched set'"
done
must_tag "$target" own
until_true 50 about "$target" '.priority == 3 and .rule == "replays"' || fail "the rule does not apply again"

configure '[rule replays]\nshim = no\nexecutable = '"$BUILD"'/kfdreplay\npriority = 1\n'
kill -HUP "$daemon"
until_true 50 about "$target" '.priority == 1' || fail "the new priority: $(status | jq -c .processes)"
until_true 50 state_is "$target" suspended || fail "not suspended again"
configure '[rule replays]\nshim = yes\nexecutable = '"$BUILD"'/kfdreplay\npriority = 1\n'
kill -HUP "$daemon"
until_true 50 says ".processes|all(.pid != $target)" || fail "no rule names the process, but it is listed"
until_true 50 is_untraced "$target" || fail "the process is traced without a rule"
