#!/bin/bash
# SPDX-License-Identifier: MIT
# Proves: the daemon serves a shim of the version before (its bytes: tests/lib/protocol_4.h): other
# processes are held for it and released, and its daemon shared memory says so. So a container need
# not be rebuilt when the daemon of its host is upgraded.
set -eu
# shellcheck source=tests/lib/daemon.inc.sh
. "$SOURCE/tests/lib/daemon.inc.sh"
in_a_world

start_daemon
start_offline --seconds 600
online_client=$OLDER_CLIENT
start_online
send on 0
comes_to suspended "nothing is held for the older one"
send holds 0
send off 0
comes_to running "not given back"
end_offline
says ".processes[]|select(.pid == $online)|.priority == 15 and .nodes[0].gpu_id == $(gpu_id)" ||
	fail "it is not listed: $(status | jq -c .processes)"
