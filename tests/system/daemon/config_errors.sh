#!/bin/bash
# SPDX-License-Identifier: MIT
# Proves: a daemon does not start with a configuration that it cannot parse. It prints one line
# with the file, the line and what is allowed, and ends with 2. A path that is no regular file is
# refused in the same way. The values of a good configuration take effect.
# tests/unit/daemon/config.c has the single mistakes.
set -eu
# shellcheck source=tests/lib/daemon.inc.sh
. "$SOURCE/tests/lib/daemon.inc.sh"
as_root "$@"

# wrong TEXT FILE [COMMAND...]: the daemon, started by COMMAND, refuses FILE with TEXT.
wrong() {
	local what=$1 file=$2
	shift 2
	refused 2 "$what" "$@" "$BUILD/kfdschedd" --foreground --config "$file" --socket "$KFDSHIM_SOCKET"
}

printf '[scheduler]\nslow_suspend = 5\n' >"$work/bad.ini"
wrong "$work/bad.ini:2: slow_suspend = 5: must be a number with its unit" "$work/bad.ini"
wrong "$work/none: No such file" "$work/none"
wrong "$work: is a directory" "$work"
wrong "not a text file" "$BUILD/lane_client"
head -c 2000000 /dev/zero | tr '\0' '\n' >"$work/huge.ini"
wrong "$work/huge.ini: is larger than 1 MiB" "$work/huge.ini"
wrong "/dev/zero: is not a regular file" /dev/zero
chmod 755 "$work"
cp "$BUILD/kfdschedd" "$work"
chmod 600 "$work/bad.ini"
BUILD=$work wrong "$work/bad.ini: Permission denied" "$work/bad.ini" \
	setpriv --reuid 65534 --clear-groups

# The packaged configuration is valid, also with all of its examples, and it has every key.
example=$SOURCE/packaging/kfdschedd.ini
for section in scheduler 'node 1' authority 'rule a' metrics log; do
	printf '[%s]\nx = 1\n' "$section" >"$work/keys.ini"
	wrong "known keys are" "$work/keys.ini"
	known=$(sed 's/.*known keys are //; s/,//g' "$work/err")
	for key in $known; do
		[[ $key == *_us ]] || grep -q "^;*$key = " "$example" || fail "$example has no $key"
	done
done
{
	sed 's/^;\([a-z[]\)/\1/' "$example"
	printf '[metrics]\nnonsense = 1\n'
} >"$work/all.ini"
wrong "unknown key nonsense" "$work/all.ini"
{
	cat "$example"
	printf '[log]\nnonsense = 1\n'
} >"$work/all.ini"
wrong "unknown key nonsense" "$work/all.ini"

printf '[scheduler]\nslow_suspend_us = 123456\n' >"$work/good.ini"
daemon_options=(--config "$work/good.ini")
start_daemon
until_true 50 says '.daemon.slow_suspend_us == 123456' || fail "the value has no effect"
