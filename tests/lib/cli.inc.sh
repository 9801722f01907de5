# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# What the tests of kfdsched share. Reads BUILD, SOURCE and FAKES (folder of
# the stand-ins). Leaves a private folder in $work and ends what it started.

work=$(mktemp -d)
started=""
end() {
	for pid in $started; do
		kill "$pid" 2>/dev/null || true
		wait "$pid" 2>/dev/null || true
	done
	rm -rf "$work"
}
trap end EXIT
unset KFDSHIM_SOCKET KFDSHIM_PRIORITY KFDSHIM_GROUP KFDSHIM_SLO KFDSHIM_DISABLE LD_PRELOAD
# shellcheck disable=SC2034 # the tests use it
kfdsched=$BUILD/kfdsched

fail() {
	echo "FAILED: $*" >&2
	for file in "$work"/out "$work"/err; do
		[ ! -s "$file" ] || sed "s|^|  ${file##*/}: |" "$file" >&2
	done
	exit 1
}

# expect CODE COMMAND...: its output goes to $work/out and $work/err.
expect() {
	local code=$1 got=0
	shift
	"$@" >"$work/out" 2>"$work/err" || got=$?
	[ "$got" = "$code" ] || fail "'$*' exited with $got, not $code"
}

# one_line: the last command said one line on stderr and nothing on stdout.
one_line() {
	[ "$(wc -l <"$work/err")" = 1 ] || fail "expected one line on stderr"
	[ ! -s "$work/out" ] || fail "expected nothing on stdout"
}

said() {
	grep -qF -- "$1" "$work/err" || fail "stderr does not say '$1'"
}

printed() {
	grep -qF -- "$1" "$work/out" || fail "stdout does not say '$1'"
}

# start_daemon SOCKET: a stand-in that answers with FAKE_ANSWER.
start_daemon() {
	"$FAKES/cli_fake_daemon" --socket "$1" &
	started="$started $!"
	for _ in $(seq 100); do
		[ ! -S "$1" ] || return 0
		sleep 0.05
	done
	fail "the stand-in daemon did not start"
}
