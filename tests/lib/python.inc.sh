# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# The examples in Python beside the daemon. Includes daemon.inc.sh.
# shellcheck source=tests/lib/daemon.inc.sh
. "$SOURCE/tests/lib/daemon.inc.sh"

# The source tree as its users have it: the build in build/.
tree=$work/tree
mkdir "$tree"
cp -r "$SOURCE/python" "$SOURCE/examples" "$tree"
ln -s "$BUILD" "$tree/build"
export PYTHONPATH=$tree/python:$SOURCE/tests/lib PYTHONDONTWRITEBYTECODE=1 no_proxy=127.0.0.1

# example NAME OUT WORD...: examples/python/NAME.py in the background, with the library, its output
# in $work/OUT: $started.
example() {
	LD_PRELOAD=$BUILD/libkfdshim.so python3 "$tree/examples/python/$1.py" "${@:3}" \
		>"$work/$2" 2>>"$work/err" &
	started=$!
	children+=("$started")
}

# trained OUT PID...: each of these trainings ends with 0 on SIGTERM, and has made steps.
trained() {
	local out=$1 pid
	for pid in "${@:2}"; do
		kill -TERM "$pid"
		wait "$pid" || fail "train.py ended with $?"
	done
	grep -qE '^train.py: [1-9][0-9]* steps in ' "$work/$out" || fail "no steps: $(cat "$work/$out")"
	[ ! -s "$work/err" ] || fail "something on stderr"
}
