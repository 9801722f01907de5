#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Proves: if something fails in a run, colocate prints the message of the process that failed and
# ends with 1 (77 if that process says that it is not possible here), writes no report and leaves
# nothing behind.
set -eu
# shellcheck source=tests/lib/harness.inc.sh
. "$SOURCE/tests/lib/harness.inc.sh"
# shellcheck source=tests/lib/cli_colocate.inc.sh
. "$SOURCE/tests/lib/cli_colocate.inc.sh"

failing() { # CODE SAYS ARGUMENT...
	local code=$1 says=$2
	shift 2
	rm -f "$FAKE_DIR"/*
	expect "$code" "$kfdsched" colocate "${traces[@]}" --seconds 1 --json "$work/report.json" "$@"
	said "$says"
	[ ! -e "$work/report.json" ] || fail "a report of a failed run"
	[ ! -s "$work/out" ] || fail "a table of a failed run"
	nothing_left
}

export FAKE_REPLAY=fail
failing 1 "shared: offline kfdreplay: the queue has gone" --arms shared
said "shared: offline kfdreplay exited with 1"
FAKE_REPLAY=impossible
failing 77 "no GPU here" --arms shared
FAKE_REPLAY=early
failing 1 "kfdreplay exited with 0" --arms trap --seconds 60 # not waited for
FAKE_REPLAY=mute
failing 1 "left no readable JSON" --arms shared
FAKE_REPLAY=bad_times
failing 1 "times of requests cannot be read: Invalid argument" --arms alone
FAKE_REPLAY=""

FAKE_FAULT=garbage failing 1 "kfdschedd does not reply: Protocol error" --arms trap
FAKE_ANSWER=false failing 1 "kfdschedd exited with 1" --arms trap
FAKE_ANSWER="echo {}" KFDSHIM_DISABLE=1 failing 1 "no totals" --arms trap

printf '#!/bin/sh\nkill -SEGV $$\n' >"$work/bin/kfdschedd"
failing 1 "kfdschedd was ended by SIGSEGV" --arms trap
chmod -x "$work/bin/kfdschedd"
failing 1 "cannot start $work/bin/kfdschedd" --arms trap
rm "$work/bin/kfdschedd"
failing 1 "kfdschedd is neither" --arms trap
one_line ""

failing 1 "cannot write $work/nosuch/x.svg" --svg "$work/nosuch/x.svg"
one_line ""
failing 1 "cannot read the trace $work/nosuch.csv" --online "$work/nosuch.csv"
one_line ""
failing 1 "cannot read the arrivals $work/nosuch" --arrivals "file:$work/nosuch"
one_line ""
failing 1 "cannot read the configuration $work/nosuch" --config "$work/nosuch"
one_line ""
TMPDIR=/$(printf 'x%.0s' $(seq 90)) failing 1 "kfdschedd is neither"
