#!/bin/bash
# SPDX-License-Identifier: MIT
# Proves: the commands of the README's section "From Python" do what it says, as they stand there.
set -eu
# shellcheck source=tests/lib/python.inc.sh
. "$SOURCE/tests/lib/python.inc.sh"
as_root "$@"
in_a_world

# What is typed into the world's shell: one command a line, the last block of the section.
sed -n '/^## From Python/,/^## What is/s/^    //p' "$SOURCE/README.md" |
	sed '1,/^build\/kfdsim -- bash$/d; /^exit$/d' >"$work/commands"
# A person types more slowly than this. Port 8080 may be another program's: the network is the host's.
{
	echo "set -e; wait_for() { until eval \"\$1\"; do sleep 0.1; done; }"
	sed -e "s/^curl/wait_for 'grep -q http server'\n&/" \
		-e "s/^build.kfdsched status$/wait_for '[ \$(grep -c begins training) = 2 ]'\n&/" \
		-e 's#http://127.0.0.1:8080/#$(sed "s/^serve.py: //" server)#' \
		-e 's/serve.py &$/serve.py --port 0 >server \&/' -e 's/train.py &$/train.py >>training \&/' "$work/commands"
	# shellcheck disable=SC2016 # for the inner shell
	echo 'build/kfdsched events --json >events; kill $(jobs -p); wait; kill $(build/kfdsched status --json | jq .daemon.pid)'
} >"$work/typed"
unset PYTHONPATH KFDSHIM_SOCKET
cd "$tree"
expect 0 bash "$work/typed"
grep -q '"answer": "uoy era woh"' "$work/out" || fail "no answer"
[ "$(grep -cE 'python3 .*offline' "$work/out")" = 2 ] || fail "no two trainings in the status"
jq -s . events >"$work/events.json"
holds "$work/events.json" '[.[]|select(.kind == "suspend" and .reason == "preempted")]|length >= 2' \
	'[.[]|select(.kind == "lease" and .leased)]|length == 2' # one in each turn
grep -qE '^train.py: [1-9][0-9]* steps' training || fail "no steps: $(cat training)"
