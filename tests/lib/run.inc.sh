# SPDX-License-Identifier: MIT
# For the run_*.sh tests: each checks one thing that kfdsim's outer half does.
# shellcheck shell=bash
# shellcheck disable=SC2034 # used where this is read
KFDSIM=$BUILD/kfdsim
DIR=$(mktemp -d)
trap 'rm -rf "$DIR"' EXIT

fail() {
	echo "FAILED: $*" >&2
	exit 1
}

# expect STATUS COMMAND...: runs it, output to $DIR/out and $DIR/err.
expect() {
	local want=$1 got=0
	shift
	"$@" >"$DIR/out" 2>"$DIR/err" || got=$?
	[ "$got" = "$want" ] || fail "'$*' ended with $got, not $want; it said: $(cat "$DIR/out" "$DIR/err")"
}

# said PATTERN...: stderr was exactly one line, with each pattern in it.
said() {
	local pattern
	[ "$(wc -l <"$DIR/err")" = 1 ] || fail "not one line on stderr: $(cat "$DIR/err")"
	for pattern in "$@"; do
		grep -qE -- "$pattern" "$DIR/err" || fail "no '$pattern' in: $(cat "$DIR/err")"
	done
}

same() {
	[ "$1" = "$2" ] || fail "'$1' is not '$2'"
}

# wait_for SECONDS COMMAND...: until it succeeds.
wait_for() {
	local tries=$(($1 * 20))
	shift
	until "$@"; do
		tries=$((tries - 1))
		[ "$tries" -gt 0 ] || fail "waited in vain for: $*"
		sleep 0.05
	done
}

# Processes are found by a mark in their environment, whatever they became.
MARK=KFDSIM_TEST_MARK=$DIR
marked() {
	# Some are gone before grep comes to them: its status says nothing.
	grep -lzsFx -- "$MARK" /proc/[0-9]*/environ || true
}
none_marked() {
	[ -z "$(marked)" ]
}
# What a world could leave behind outside. The thunk's own files in /dev/shm come
# and go with any ROCm process of this machine.
outside() {
	cat /proc/self/mountinfo
	ls -A -I '*hsakmt_*' /run /dev /dev/shm /sys/class
}
