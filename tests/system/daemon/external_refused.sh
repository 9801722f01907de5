#!/bin/bash
# SPDX-License-Identifier: MIT
# Proves: a process with ROCr 5.2.3 and without the shim, which never enables its runtime, is
# refused with the reason, and runs on until it is ended. A process that cannot be tagged is refused
# with a sentence.
set -eu
# shellcheck source=tests/lib/daemon.inc.sh
. "$SOURCE/tests/lib/daemon.inc.sh"
as_root "$@"
# shellcheck source=tests/lib/external.inc.sh
. "$SOURCE/tests/lib/external.inc.sh"
in_a_world

start_daemon
start_online
start_target --seconds 600
must_tag "$target" offline
until_true 50 about "$target" '.level == "observe" and .shim == false and (.reason|test("not enabled"))' ||
	fail "it is not refused: $(status | jq -c .processes)"
until_true 50 is_untraced "$target" || fail "the process is still traced"
send on
kill -INT "$target"
wait "$target" || fail "it ended with $?"
counts_are_right
send off

start_offline --requests 1000
must_refuse "$daemon" 2 "kfdschedd itself"
must_refuse $$ 2 "does not use an AMD GPU"
start_target --requests 1000
must_refuse "$target" online "without the shim"
says ".processes|all(.pid != $target)" || fail "a refused process is listed"
