#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Proves: every command has a help text with two examples, a manual page and completions, and the
# completions offer what the command takes.
set -eu
# shellcheck source=tests/lib/harness.inc.sh
. "$SOURCE/tests/lib/harness.inc.sh"
pages=$BUILD/pages

verbs=$("$kfdsched" help | sed -n 's/^  \([a-z-]*\) .*/\1/p')
[ "$(wc -w <<<"$verbs")" -ge 12 ] || fail "the overview has too few verbs: $verbs"
for verb in $verbs; do
	expect 0 "$kfdsched" help "$verb"
	grep -q "^Usage: kfdsched $verb " "$work/out" || fail "$verb: no usage"
	# An example begins on a line of its own, and continues after a backslash or a pipe.
	[ "$(sed '1,/^Examples:$/d' "$work/out" | grep -c '^  [^ ]')" = 2 ] || fail "$verb: not two examples"
	# A terminal with 100 columns shows each line as a whole.
	[ "$(sed 1d "$work/out" | wc -L)" -le 100 ] || fail "$verb: its help is wider than 100 columns"
	expect 0 "$kfdsched" "$verb" --help
	mandoc -T ascii "$pages/kfdsched-$verb.1" | col -b >"$work/out" || fail "$verb: its page is no manual page"
	for part in NAME SYNOPSIS DESCRIPTION EXAMPLES "EXIT STATUS"; do
		grep -q "^$part" "$work/out" || fail "$verb: its page has no $part"
	done
	grep -q "kfdsched $verb" "$work/out" || fail "$verb: its page does not say how it is called"
	mandoc -T ascii "$pages/kfdsched.1" | col -b | grep -q "^ *$verb$" || fail "kfdsched(1) does not have $verb"
done
cmp "$pages/json.md" "$SOURCE/docs/reference/json.md" ||
	fail "docs/reference/json.md is out of date: cp build/pages/json.md docs/reference"
if mandoc -T lint -W error "$pages"/*.1 >"$work/out"; then :; else fail "wrong pages"; fi

# bash_offers WORD...: prints what bash offers for the last word.
bash_offers() {
	bash --norc -c '. "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _kfdsched; printf "%s\n" "${COMPREPLY[@]}"' \
		- "$pages/kfdsched.bash" "$@"
}
# zsh_offers WORD...: the same for zsh; the functions of its completion system are replaced.
zsh_offers() {
	zsh -f -c 'compadd() { shift; print -l -- "$@" }; _files() { print files }; _command_names() { print commands }
		_describe() { print -l -- ${(P)2%%:*} ${${(P)2}%%:*} }
		file=$1; shift; words=("$@"); CURRENT=$#; source $file' - "$pages/_kfdsched" "$@"
}
for shell in bash zsh; do
	offers() {
		"${shell}_offers" "$@" >"$work/out" 2>"$work/err" || fail "$shell: $*"
		[ ! -s "$work/err" ] || fail "$shell: $*"
	}
	offers kfdsched ''
	for verb in $verbs help; do
		grep -qx -- "$verb" "$work/out" || fail "$shell does not offer $verb"
	done
	offers kfdsched queues --format ''
	for word in table c json; do
		grep -qx "$word" "$work/out" || fail "$shell does not offer --format $word"
	done
	offers kfdsched queues --
	grep -qx -- --addresses "$work/out" || fail "$shell does not offer queues --addresses"
	offers kfdsched workload ''
	grep -qx llm-decode "$work/out" || fail "$shell does not offer workload llm-decode"
	offers kfdsched help ''
	grep -qx preempt "$work/out" || fail "$shell does not offer help preempt"
done
# The offered processes are those that the driver lists.
# shellcheck disable=SC2016 # of the world's shell
"$BUILD/kfdsim" --gpu mi210 -- bash -c '
	"$kfdsched" workload gemm --seconds 20 >/dev/null 2>&1 &
	for _ in $(seq 100); do
		[ ! -d /sys/class/kfd/kfd/proc/$! ] || break
		sleep 0.1
	done
	. "$BUILD/pages/kfdsched.bash"
	COMP_WORDS=(kfdsched queues "") COMP_CWORD=2
	_kfdsched
	[[ " ${COMPREPLY[*]} " == *" $! "* ]]' || fail "bash does not offer the process"
