#!/bin/bash
# SPDX-License-Identifier: MIT
# Proves: worker and watchdog, also a second worker, have their memory locked and are the last
# processes that the kernel ends when memory runs out. If the daemon has no right to that, it locks
# what it may, logs this once and goes on. The unit file gives the rights.
set -eu
# shellcheck source=tests/lib/daemon.inc.sh
. "$SOURCE/tests/lib/daemon.inc.sh"
as_root "$@"

for line in LimitMEMLOCK=infinity OOMScoreAdjust=-900; do
	grep -qx "$line" "$BUILD/kfdschedd.service" || fail "the unit has no $line"
done

# Nearly all of its resident memory is locked; under a limit at least half of what that permits.
is_locked() {
	local wanted limit
	wanted=$(($(proc_status "$1" VmRSS) * 2 / 3))
	limit=$(awk '/^Max locked memory/ {print $4}' "/proc/$1/limits")
	[ "$limit" = unlimited ] || [ $((limit / 2048)) -gt "$wanted" ] || wanted=$((limit / 2048))
	[ "$(proc_status "$1" VmLck)" -ge "$wanted" ]
}

is_spared() {
	[ "$(cat "/proc/$1/oom_score_adj")" = -900 ]
}

replace_worker() {
	local first
	first=$(worker)
	kill -KILL "$first"
	until_true 100 says ".daemon.worker_pid != $first" || fail "no other worker"
}

# Both need a right of the machine (CAP_SYS_RESOURCE), which the root of a container may lack.
may() {
	(eval "$1") 2>/dev/null
}

start_daemon
until_true 50 says .daemon.worker_pid || fail "no worker"
for turn in first second; do
	for process in "$daemon" "$(worker)"; do
		is_locked "$process" || fail "$turn: $process: $(grep Vm "/proc/$process/status")"
		! may 'echo -900 >/proc/self/oom_score_adj' || is_spared "$process" ||
			fail "$turn: $process has $(cat "/proc/$process/oom_score_adj")"
	done
	[ "$turn" = second ] || replace_worker
done
# complains RIGHT TEXT: the log has TEXT once if the daemon lacks the right, else never.
complains() {
	local wanted=1
	! may "$1" || wanted=0
	[ "$(grep -c "$2" "$work/log")" = $wanted ] || fail "it does not say $wanted times: $2"
}
complains 'ulimit -l unlimited' "memory can be locked"
complains 'echo -900 >/proc/self/oom_score_adj' "OOM killer"
kill -TERM "$daemon"
wait "$daemon" || fail "exit code $?"

: >"$work/log"
chmod 711 "$work"
install -d -o 65534 -g 65534 "$work/own"
install -m 755 "$BUILD/kfdschedd" "$work/kfdschedd"
chmod 644 "$work/patient.ini"
KFDSHIM_SOCKET=$work/own/socket
(
	ulimit -l 64
	exec setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps=-all,+sys_ptrace \
		--ambient-caps=-all,+sys_ptrace "$work/kfdschedd" --foreground --socket "$KFDSHIM_SOCKET" \
		"${daemon_options[@]}" 2>>"$work/log"
) &
daemon=$!
children+=("$daemon")
until_true 50 says .daemon.worker_pid || fail "no worker of the ordinary user's"
replace_worker
for line in "memory can be locked" "OOM killer"; do
	[ "$(grep -c "$line" "$work/log")" = 1 ] || fail "it does not say once: $line"
done
is_locked "$(worker)" || fail "nothing is locked under a limit: $(grep Vm "/proc/$(worker)/status")"
[ "$(proc_status "$(worker)" VmLck)" -le 64 ] || fail "there is no limit"
