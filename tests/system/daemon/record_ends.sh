#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Proves: if a recording ends early (kfdschedd-rec is killed, the disk is full), the log says so
# once, and the daemon goes on without it. The next daemon overwrites the file. A file that is not a
# recording is refused.
set -eu
# shellcheck source=tests/lib/daemon.inc.sh
. "$SOURCE/tests/lib/daemon.inc.sh"
as_root "$@"

# There is no GPU, so the client has none either.
gpu_id() {
	echo 4711
}

# recorder: prints the pid of the process that writes the recording.
recorder() {
	pgrep -P "$daemon" -x kfdschedd-rec || true
}
has_no_recorder() {
	[ -z "$(recorder)" ]
}
has_recorder() {
	[ -n "$(recorder)" ]
}

# Starts the daemon with another recording, after the end of the last one.
record() {
	daemon_options=(--config "$work/patient.ini" --record "$1")
	start_daemon
}
end_daemon() {
	kill -TERM "$daemon"
	wait "$daemon" || fail "kfdschedd ended with $?"
}
# The daemon serves another online client.
serves() {
	if [ -n "${online:-}" ]; then another_online; else start_online; fi
	until_true 50 state_is "$online" running || fail "the daemon does not serve a client"
}
# The client becomes active and idle until the disk is full.
is_full() {
	send on
	sleep 0.01
	send off
	sleep 0.01
	grep -q "the recording has ended: $work/disk/full: No space left" "$work/log"
}

record "$work/first"
until_true 50 has_recorder || fail "no kfdschedd-rec" # it takes its name once it runs
kill -KILL "$(recorder)"
until_true 50 grep -q "the recording has ended: kfdschedd-rec was ended by signal 9" "$work/log" ||
	fail "the log does not report the end of kfdschedd-rec"
serves
has_no_recorder || fail "another kfdschedd-rec"
end_daemon

# A disk with room for the first lines.
mkdir "$work/disk"
no_disk() {
	umount -l "$work/disk"
}
at_end+=(no_disk)
mount -t tmpfs -o size=4k,mode=700 none "$work/disk"
record "$work/disk/full"
serves
until_true 300 is_full || fail "the log does not report the full disk"
until_true 50 has_no_recorder || fail "kfdschedd-rec has not ended"
serves
end_daemon

# The old recording is written anew. The worker starts after the socket listens.
record "$work/first"
until_true 50 grep -q ' worker ' "$work/first" || fail "no worker in the recording"
end_daemon
[ "$(grep -c ' worker ' "$work/first")" = 1 ] || fail "the file was not overwritten: $(cat "$work/first")"

# A file that is not a recording is not changed, and no daemon starts.
echo "a letter" >"$work/letter"
expect 1 "$BUILD/kfdschedd" --foreground --socket "$KFDSHIM_SOCKET" --record "$work/letter"
said "--record $work/letter: it exists and is not a recording"
[ "$(cat "$work/letter")" = "a letter" ] || fail "the letter was overwritten"
[ ! -e "$KFDSHIM_SOCKET" ] || fail "a socket file remains"
