# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# A daemon that is none. Needs the harness and FAKES, the folder of the stand-ins.

# start_stand_in SOCKET: it answers there with FAKE_ANSWER.
start_stand_in() {
	"$FAKES/cli_fake_daemon" --socket "$1" &
	children+=("$!")
	until_true 100 test -S "$1" || fail "the stand-in daemon did not start"
}
