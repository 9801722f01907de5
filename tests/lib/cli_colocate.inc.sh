# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# colocate among stand-ins: a folder with kfdsched and its fake companions.

# shellcheck disable=SC2154 # of cli.inc.sh
export FAKE_DIR=$work/fakes TMPDIR=$work/tmp FAKE_ANSWER="bash $SOURCE/tests/lib/fake_status.sh"
mkdir "$work/bin" "$FAKE_DIR" "$TMPDIR"
cp "$BUILD/kfdsched" "$work/bin"
cp "$FAKES/libcli_fake_shim.so" "$work/bin/libkfdshim.so"
cp "$FAKES/cli_fake_daemon" "$work/bin/kfdschedd"
cp "$SOURCE/tests/lib/fake_kfdreplay.sh" "$work/bin/kfdreplay"
chmod +x "$work/bin/kfdreplay"
touch "$work/on.csv" "$work/off.csv"
# shellcheck disable=SC2034 # the tests use it
kfdsched=$work/bin/kfdsched
# shellcheck disable=SC2034 # the tests use it
traces=(--online "$work/on.csv" --offline "$work/off.csv")

# companions: the processes that a run started and that are there.
companions() {
	pgrep -f "^[^ ]*(bash )?$work/bin/(kfdreplay|kfdschedd)" || true
}

# nothing_left: none of the processes that a run started, and no folder.
nothing_left() {
	local left
	for _ in $(seq 40); do
		left=$(companions)
		[ -n "$left" ] || break
		sleep 0.05
	done
	[ -z "$left" ] || fail "processes are left: $left"
	[ -z "$(ls -A "$TMPDIR")" ] || fail "left in TMPDIR: $(ls -A "$TMPDIR")"
}
