#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Proves: if a PID has no process with a GPU (a process that has ended, a zombie, a thread, a process
# without a GPU, one of another user), or gets a new process meanwhile, every command that takes one
# says so in a sentence, prints nothing else, and does nothing to any process.
set -eu
# shellcheck source=tests/lib/daemon.inc.sh
. "$SOURCE/tests/lib/daemon.inc.sh"
as_root "$@"
in_a_world

sleep 0 &
gone=$!
wait "$gone"
# A zombie: its parent does not wait for it. (A shell would: it ends when its parent is a shell no more.)
bash -c '{ until grep -qs "(sleep)" "/proc/$$/stat"; do sleep 0.05; done; exec sleep 0; } &
	echo $! >"$1"; exec sleep 300' - "$work/zombie" &
children+=("$!")
until_true 50 test -s "$work/zombie" || fail "no zombie"
zombie=$(cat "$work/zombie")
is_zombie() {
	grep -qs ') Z ' "/proc/$zombie/stat"
}
until_true 300 is_zombie || fail "no zombie"
sleep 300 &
idle=$!
children+=("$idle")
load=(--trace "$SOURCE/traces/offline_gemm4000_f32.csv" --rate 5 --seconds 300)
"$BUILD/kfdreplay" "${load[@]}" >/dev/null 2>&1 &
target=$!
children+=("$target")
has_queues() {
	[ -n "$(ls "/sys/class/kfd/kfd/proc/$1/queues" 2>/dev/null)" ]
}
has_thread() {
	[ "$(find "/proc/$target/task" -mindepth 1 -maxdepth 1 | wc -l)" -gt 1 ]
}
until_true 300 has_queues "$target" || fail "no queues"
until_true 100 has_thread || fail "no thread"
thread=$(find "/proc/$target/task" -mindepth 1 -maxdepth 1 -printf '%f\n' | grep -vx "$target" | head -n 1)

none="@(1|77)" # the exit codes
for verb in "queues" "monitor" "top --once" "diagnose" "verify" "preempt" "suspend" "pidmap" "watch --timeout 1 --pid" "compare $target"; do
	read -ra words <<<"$verb"
	refused "$none" "$gone" "$kfdsched" "${words[@]}" "$gone"
	case $verb in
	diagnose) ;; # it names the process of the thread
	*) refused "$none" "$thread" "$kfdsched" "${words[@]}" "$thread" ;;
	esac
	case $verb in
	diagnose | pidmap) ;; # they report a zombie
	compare*) refused "$none" "$zombie" "$kfdsched" "${words[@]}" "$zombie" ;;
	*) refused "$none" "process $zombie (sleep) has ended (a zombie: its parent has not collected its exit status)" "$kfdsched" "${words[@]}" "$zombie" ;;
	esac
	case $verb in
	diagnose | pidmap | watch*) ;; # they report a process without a GPU, or wait for one
	*) refused "$none" "$idle" "$kfdsched" "${words[@]}" "$idle" ;;
	esac
done
# If only its first thread has ended, a process is alive, and no command says that it has ended.
python3 -c 'import ctypes, threading, time; threading.Thread(target=time.sleep, args=(600,)).start()
ctypes.CDLL(None).pthread_exit(None)' &
headless=$!
children+=("$headless")
until_true 50 grep -qs ') Z ' "/proc/$headless/stat" || fail "its first thread has not ended"
for verb in queues monitor verify; do
	refused "$none" "no source reports" "$kfdsched" "$verb" "$headless"
done
# The process of another user: public values are printed, and what needs a right is refused.
as_other=(setpriv --reuid 65534 --regid 65534 --clear-groups)
for verb in preempt suspend; do
	refused "$none" "" "${as_other[@]}" "$kfdsched" "$verb" "$target"
	one_line "not allowed to trace|refuses this user"
done
"${as_other[@]}" "$kfdsched" monitor "$target" --seconds 0.2 --interval 0.1 | grep -q "queues" || fail "user 65534 cannot count queues"
kill -0 "$target" "$idle" || fail "a process was ended"

# A pid that is used again is not the same process: monitor ends with what it has. No other process
# may start here while the pid is set.
"$kfdsched" monitor "$target" --seconds 60 --interval 0.2 >"$work/out" 2>&1 &
monitor=$!
children+=("$monitor")
has_samples() {
	grep -q "sample 2" "$work/out"
}
until_true 100 has_samples || fail "no samples: $(cat "$work/out")"
kill -STOP "$monitor" # it reads again when the pid has another process
kill -KILL "$target"
wait "$target" 2>/dev/null || true
# (A thread or process that starts in that moment can take the pid; then this is tried again.)
takes_number() {
	echo $((target - 1)) >/proc/sys/kernel/ns_last_pid
	"$BUILD/kfdreplay" "${load[@]}" >/dev/null 2>&1 &
	again=$!
	children+=("$again")
	[ "$again" != "$target" ] || return 0
	echo "tried again: the number was $again"
	kill -KILL "$again"
	return 1
}
until_true 50 takes_number || fail "the number is $again and not $target, so this test proves nothing"
until_true 300 has_queues "$again" || fail "the next process has no queues"
kill -CONT "$monitor"
code=0
wait "$monitor" || code=$?
grep -q "then the process ended" "$work/out" || fail "monitor took the next process for the same ($code): $(cat "$work/out")"
echo "ok"
