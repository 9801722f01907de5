#!/bin/bash
# SPDX-License-Identifier: MIT
# Proves: `kfdsched set` overrides a rule, and a rule overrides the settings of a process. The level
# of a rule is the level at which a process is held. A process with KFDSHIM_LEVEL=observe to which a
# rule gives a priority is held, by the gate, and preempts no other process all the same.
set -eu
# shellcheck source=tests/lib/clients.inc.sh
. "$SOURCE/tests/lib/clients.inc.sh"
as_root "$@"

# is NAME JQ-EXPRESSION: the expression is true of that process, soon.
is() {
	until_true 100 says ".processes[]|select(.pid == ${pid[$1]})|$2" ||
		fail "$1 is not $2: $(status | jq -c ".processes[]|select(.pid == ${pid[$1]})")"
}

start_clients
reload '[rule ruled]' 'uid = 0' 'level = weight' 'slo = 20ms' 'group = job'
client urgent 0 9 gate
client ruled 0 5 trap
is ruled '.rule == "ruled" and .priority == 5 and .group == "job"'
reload '[rule low]' 'gid = 4711' 'priority = 14' '[rule ruled]' 'uid = 0' 'priority = 3'
is ruled '.rule == "ruled" and .priority == 3 and .group == ""'
say ruled "priority 7" # its own setting, which does not apply now
is ruled '.priority == 3'
"$kfdsched" set "${pid[ruled]}" 12 2>/dev/null
is ruled '.priority == 12 and .priority_override and .rule == "ruled"'
reload '[rule ruled]' 'uid = 0' 'priority = 4'
is urgent '.priority == 4' # the configuration is in force
is ruled '.priority == 12'
"$kfdsched" set "${pid[ruled]}" own 2>/dev/null
is ruled '.priority == 4 and (.priority_override|not)'
reload
is ruled '.rule == null and .priority == 7'
is urgent '.priority == 9'

# The process is held at level weight, by the rule under which it registered, not at its own level.
say ruled on
obeys ruled
say urgent on
obeyed ruled
is ruled '.level == "weight" and .state == "suspended"'
obeys ruled
say urgent off
obeyed ruled
is ruled '.state == "running"'
say ruled off

client watcher 0 10 observe
say watcher on
say urgent on
is watcher '.role == "seen" and .state == "running" and .suspends == 0'
reload '[rule low]' 'uid = 0' 'shim = yes' 'priority = 8'
is watcher '.priority == 8 and .state == "running"' # equal priorities do not preempt each other
obeys watcher
"$kfdsched" set "${pid[urgent]}" 9 2>/dev/null
obeyed watcher
is watcher '.level == "gate" and .state == "suspended"'
obeys watcher
"$kfdsched" set "${pid[urgent]}" 7 2>/dev/null
obeyed watcher
is watcher '.state == "running"'
is watcher '.active'
is urgent '.state == "running" and .suspends == 0 and .failures == 0' # although its priority is lower
