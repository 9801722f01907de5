#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Proves: wrong use gives exit code 2 and one line that says what was wrong and how to use the
# command; the help of every command is on stdout, and stderr is empty.
set -eu
# shellcheck source=tests/lib/harness.inc.sh
. "$SOURCE/tests/lib/harness.inc.sh"

wrong() { # SAYS ARGUMENT...
	local says=$1
	shift
	refused 2 "$says" "$kfdsched" "$@"
	said "usage: kfdsched"
}

wrong "no command"
wrong "unknown command nosuch" nosuch
wrong "unknown command nosuch" help nosuch
wrong "unknown option --nosuch" run --nosuch
wrong "unknown option -x" run -x
wrong "--priority needs a value" run --priority
wrong "no --priority" run -- true
wrong "not 'fast'" run --priority fast -- true
wrong "not '16'" run --priority 16 -- true
wrong "not '-1'" run --priority -1 -- true
wrong "not '20'" run --priority 3 --slo 20 -- true
wrong "not '1h'" run --priority 3 --slo 1h -- true
wrong "not 'ms'" run --priority 3 --slo ms -- true
wrong "not '0ms'" run --priority 3 --slo 0ms -- true
wrong "--group" run --priority 3 --group "" -- true
wrong "--group" run --priority 3 --group "$(printf 'g%.0s' $(seq 64))" -- true
wrong "no command" run --priority online
wrong "'now' is not a valid process id" status now
wrong "wrong option --json=1" status --json=1
wrong "'0' is not a valid process id" queues 0
wrong "'12x' is not a valid process id" queues 12x
wrong "unexpected argument" queues 1 2
wrong "'1x' is not a valid process id" doctor 1x
wrong "unexpected argument" doctor 1 2
wrong "no PID" suspend
wrong "'0' is not a valid process id" suspend 0
wrong "'12x' is not a valid process id" resume 12x
wrong "unexpected argument" resume 12 13
for seconds in 0 -1 x 5s 86401 99999999999999999999; do
	wrong "--for takes 1 to 86400 seconds, not '$seconds'" suspend 12 --for "$seconds"
done
wrong "unknown option --for" resume 12 --for 5
for ids in "" "," "1," ",1" x 1-0 1- -1 1024 0x1 "1 2" 99999999999999999999; do
	wrong "--queues takes a list of ids such as 0,2-5, not '$ids'" suspend 12 --queues "$ids"
done
wrong "--queues and --for exclude each other" suspend 12 --queues 1 --for 3
wrong "unknown option --queues" resume 12 --queues 1
wrong "no priority" set 12
for priority in 16 -1 fast "" 007; do
	wrong "'$priority' is not a valid priority: online, offline, 0 to 15, none or own" set 12 -- "$priority"
done
for policy in fast 0 -1 4294967296 12x; do
	wrong "'$policy' is neither a node" policy -- "$policy"
done
for share in "" 10 share= share=0 share=100 share=5x share=% share=20%%; do
	wrong "policy share needs share=1 to share=99" policy 12 share "$share"
done
wrong "policy share needs share=1 to share=99" policy share
wrong "unexpected argument" policy strict share=10
wrong "--count takes a number of events, not '0'" events --follow --count 0
wrong "--last takes a number of events, not '-1'" events --last -1
wrong "--count ends --follow" events --count 3
wrong "unexpected argument" events now
wrong "--seconds takes a number above 0, not '0'" trace --seconds 0
wrong "--pid takes a process id, at most 64 times, not 'x'" trace --pid x
wrong "a command follows after --" trace sleep 1
wrong "exclude each other" trace --json --perfetto -
wrong "--hip takes a level of 1 to 5, not '6'" trace --hip=6 -- true
wrong "give its log with --hip-log" trace --hip
wrong "no PID" preempt
wrong "'0' is not a valid process id" preempt 0
wrong "unexpected argument" preempt 1 2
wrong "--count takes 1 to 100000, not '0'" preempt 1 -n 0
wrong "--hold takes a time such as 100ms, at most 30s, not '31s'" preempt 1 --hold 31s
wrong "--pause takes a time such as 500ms, at most 600s, not '5'" preempt 1 --pause 5
wrong "--slow takes a time such as 50ms, at most 30s, not '0ms'" preempt 1 --slow 0ms
wrong "no PID" monitor
wrong "'0' is not a valid process id" monitor 0
wrong "--interval takes seconds, or a time such as 1ms, of 100us to a day, not '1us'" monitor 1 --interval 1us
wrong "--seconds takes seconds" monitor 1 --seconds -1
wrong "--source takes auto, trap, sysfs or debugfs, not 'mqd'" monitor 1 --source mqd
wrong "no directory of a recording" analyze
wrong "no command" record
wrong "--samples takes 1 to 1000000, not '0'" record --samples 0 -- true
wrong "--interval takes seconds" record --interval 1us -- true
wrong "no second directory or process id" compare 1
wrong "no command before ::" compare -- :: true
wrong "no command behind ::" compare -- true ::
wrong "-o applies to two commands" compare -o x 1 2
wrong "--interval takes seconds" compare --interval 1us -- true :: true
wrong "no --online trace" colocate --offline a
wrong "no --offline trace" colocate --online a
for arm in priority cumask observe nosuch "" "alone,"; do
	wrong "--arms takes a list of alone, shared, trap, self, gate and peers" colocate --online a --offline b --arms "$arm"
done
wrong "--load" colocate --online a --offline b --load 0
wrong "--load" colocate --online a --offline b --load inf
wrong "--rate" colocate --online a --offline b --rate -3
wrong "exclude" colocate --online a --offline b --rate 3 --load 3
wrong "--seconds" colocate --online a --offline b --seconds 1x
wrong "--seconds" colocate --online a --offline b --seconds 1e9
wrong "--seeds" colocate --online a --offline b --seeds 0
wrong "--seeds" colocate --online a --offline b --seeds 33

expect 0 "$kfdsched" --help
verbs=$(sed -n 's/^  \([a-z-]*\) .*/\1/p' "$work/out")
[ "$(wc -w <<<"$verbs")" -ge 12 ] || fail "the overview has too few commands: $verbs"
for verb in $verbs; do
	expect 0 "$kfdsched" help "$verb"
	[ ! -s "$work/err" ] || fail "help prints something on stderr"
	printed "Usage: kfdsched $verb "
	cp "$work/out" "$work/help"
	expect 0 "$kfdsched" "$verb" --help
	cmp -s "$work/out" "$work/help" || fail "$verb --help is not help $verb"
done

expect 1 sh -c '"$1" --help >/dev/full' - "$kfdsched"
said "cannot write"
