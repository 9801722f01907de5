#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Proves, in tmux, with the artificial state of a daemon: the screens of kfdsched top at 80x24 and
# 120x40 are exactly the expected ones; it sorts, filters, shows help and follows the size of the
# terminal; names cannot move the cursor; however it ends, the terminal is restored; it ends if its
# terminal goes away; without a terminal it says what to do.
set -eu
# shellcheck source=tests/lib/harness.inc.sh
. "$SOURCE/tests/lib/harness.inc.sh"
# shellcheck source=tests/lib/stand_in.inc.sh
. "$SOURCE/tests/lib/stand_in.inc.sh"
# shellcheck source=tests/lib/tmux.inc.sh
. "$SOURCE/tests/lib/tmux.inc.sh"
here=$SOURCE/tests/system/cli
export FAKE_ANSWER="sh $here/top_status.sh"

# golden NAME: the screen becomes that of top_NAME.golden.
is_golden() {
	screen >"$work/screen"
	cmp -s "$here/top_$1.golden" "$work/screen"
}
golden() {
	until_true 100 is_golden "$1" || diff -u "$here/top_$1.golden" "$work/screen" || fail "the screen is not top_$1.golden"
}
# pid_of_top: prints the pid of top, once it runs.
pid_of_top() {
	pid=$(pgrep -P "$(tmux_here display-message -p '#{pane_pid}')" -x kfdsched)
}

# ---- without a terminal, or with one of an unknown type ----
refused 2 "use --once" "$kfdsched" top --socket "$work/none" </dev/null
expect 2 "$kfdsched" top --json
said "--once"
expect 2 "$kfdsched" top --interval 1ms
said "--interval"
expect 1 "$kfdsched" top --once 4194304
said "no process 4194304"
start_stand_in "$work/s"
tmux_begin 80 24 "TERM=nosuch $kfdsched top --socket $work/s; sleep 1000"
shows "unknown terminal type 'nosuch'"
shows "use --once"
tmux_end

# ---- the display ----
tmux_begin 80 24 "PS1='shell: ' sh"
stty_before() {
	keys "stty -g >$work/$1; echo said-\$?" Enter
	shows said-0
	keys clear Enter
	soon test -s "$work/$1"
}
stty_before modes
keys "$kfdsched top --socket $work/s --interval 200ms" Enter
golden 80x24
keys '>' '>' '>' '>'
keys I
golden sorted
keys F6 Home Down Down Enter /
keys -l tra
golden filter
keys BSpace BSpace BSpace -l zzz
shows "No process matches the filter."
keys Escape
keys '?'
shows "kfdsched top: keys"
golden help
keys x
tmux_here resize-window -x 120 -y 40
golden 120x40
tmux_here resize-window -x 40 -y 8
shows "5000001 running         1"
tmux_here resize-window -x 80 -y 24
keys q
shows 'shell:'

# ---- however it ends ----
# restores HOW COMMAND...: the terminal is as it was before.
restores() {
	local how=$1
	shift
	keys clear Enter
	keys "$kfdsched top --socket $work/s; echo end''ed-\$?" Enter
	shows 5000006
	pid_of_top
	"$@"
	shows "ended-"
	[ "$(tmux_here display-message -p '#{alternate_on} #{cursor_flag}')" = "0 1" ] ||
		fail "$how: the screen is not as it was"
	rm -f "$work/after"
	stty_before after
	cmp -s "$work/modes" "$work/after" || fail "$how: the terminal's modes are not as they were"
}
signal() {
	kill -"$1" "$pid"
}
restores "Ctrl-C" keys C-c
restores "SIGTERM" signal TERM
restores "a crash" signal SEGV
restores "q" keys q

# ---- its terminal goes away ----
# The kernel then sends SIGHUP and SIGCONT; LeakSanitizer, which stops the process when it ends,
# hangs if one of them arrives meanwhile.
top="ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0 $kfdsched top"
keys "$top --socket $work/s" Enter
shows 5000006
pid_of_top
gone=$pid
tmux_end
soon has_ended "$gone"
# If top ignores SIGHUP (nohup), it notices the end of its terminal.
tmux_begin 80 24 "trap '' HUP; $top --socket $work/s; exit"
shows 5000006
pid_of_top
gone=$pid
tmux_end
soon has_ended "$gone"

# ---- one frame ----
expect 0 "$kfdsched" top --once --interval 50ms --socket "$work/s"
diff -u "$here/top_once.golden" "$work/out" || fail "--once is not the expected one"
expect 0 "$kfdsched" top --once --json --interval 50ms --socket "$work/s"
schema top "$work/out"
jq -e '[.processes[] | select(.pid == 5000005)][0] |
	.level == null and .queues == null and .vram_bytes == null and .suspends_per_s == null' \
	"$work/out" >/dev/null || fail "what is not known is not null"
if [ -e /sys/class/kfd/kfd/proc ]; then
	expect 0 "$kfdsched" top --once --json --interval 50ms --socket "$work/none"
	schema top "$work/out"
	jq -e '.daemon == null and (.why_no_daemon | test("no daemon listens")) and .suspends_per_s == null' \
		"$work/out" >/dev/null || fail "the output does not say that there is no daemon"
fi
