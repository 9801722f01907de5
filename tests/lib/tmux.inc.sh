# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# A terminal for tests: tmux with a server of its own, which ends with the test. Needs the harness.
# shellcheck disable=SC2154 # of the harness

export LANG=C.UTF-8 LC_ALL=C.UTF-8
unset TMUX TMUX_PANE
# One that is just ending would still answer at its socket.
tmux_servers=0

tmux_here() {
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
at_end+=(tmux_end)

keys() {
	tmux_here send-keys "$@"
}

screen() {
	tmux_here capture-pane -p
}

# shows TEXT: on the screen, soon.
is_shown() {
	screen 2>/dev/null | grep -qF -- "$1"
}
shows() {
	until_true 100 is_shown "$1" || {
		screen >&2
		fail "the screen does not show '$1'"
	}
}
