# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# A stand-in for the daemon. Needs the harness and FAKES, the directory of the stand-ins.

# start_stand_in SOCKET: it replies there with FAKE_ANSWER.
start_stand_in() {
	"$FAKES/cli_fake_daemon" --socket "$1" &
	children+=("$!")
	until_true 100 test -S "$1" || fail "the stand-in daemon did not start"
}
