# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# Tests of colocate with stand-ins: a directory with kfdsched and its fake companions.

# shellcheck disable=SC2154 # of the harness
export FAKE_DIR=$work/fakes TMPDIR=$work/tmp FAKE_ANSWER="bash $SOURCE/tests/lib/fake_status.sh"
mkdir "$work/bin" "$FAKE_DIR" "$TMPDIR"
cp "$kfdsched" "$work/bin"
cp "$FAKES/libcli_fake_shim.so" "$work/bin/libkfdshim.so"
cp "$FAKES/cli_fake_daemon" "$work/bin/kfdschedd"
cp "$SOURCE/tests/lib/fake_kfdreplay.sh" "$work/bin/kfdreplay"
chmod +x "$work/bin/kfdreplay"
touch "$work/on.csv" "$work/off.csv"
# shellcheck disable=SC2034 # the tests use it
kfdsched=$work/bin/kfdsched
# shellcheck disable=SC2034 # the tests use it
traces=(--online "$work/on.csv" --offline "$work/off.csv")

# companions: prints the processes that a run has started and that have not ended.
companions() {
	pgrep -f "^[^ ]*(bash )?$work/bin/(kfdreplay|kfdschedd)" || true
}

# nothing_left: the processes that a run has started have ended, and its directory is removed.
no_companions() {
	[ -z "$(companions)" ]
}
nothing_left() {
	until_true 20 no_companions || fail "processes are left: $(companions)"
	[ -z "$(ls -A "$TMPDIR")" ] || fail "left in TMPDIR: $(ls -A "$TMPDIR")"
}
