# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# A terminal for tests: tmux with a server of its own, which ends with the test. Reads
# work (a folder). The caller calls tmux_end on its way out.

export LANG=C.UTF-8 LC_ALL=C.UTF-8
unset TMUX TMUX_PANE
# One that is just ending would still answer at its socket.
tmux_servers=0

tmux_here() {
	# shellcheck disable=SC2154 # the caller has it
	command tmux -S "$work/tmux$tmux_servers" -f /dev/null "$@"
}

# tmux_begin COLUMNS LINES COMMAND: a screen of that size with one command of the shell.
tmux_begin() {
	tmux_servers=$((tmux_servers + 1))
	tmux_here new-session -d -x "$1" -y "$2" "$3"
	tmux_here set-option -g status off >/dev/null
	tmux_here resize-window -x "$1" -y "$2"
}

tmux_end() {
	tmux_here kill-server 2>/dev/null || true
}

keys() {
	tmux_here send-keys "$@"
}

screen() {
	tmux_here capture-pane -p
}

# shows TEXT: on the screen, soon.
shows() {
	for ((i = 0; i < 200; i++)); do
		if screen 2>/dev/null | grep -qF -- "$1"; then
			return 0
		fi
		sleep 0.05
	done
	screen >&2
	fail "the screen does not show '$1'"
}

# soon COMMAND...: succeeds, soon.
soon() {
	for ((i = 0; i < 200; i++)); do
		if "$@"; then
			return 0
		fi
		sleep 0.05
	done
	fail "not soon: $*"
}
