#!/bin/bash
# SPDX-License-Identifier: MIT
# Proves: worker and watchdog have the capabilities they need and no other, no-new-privs
# and a filter each; a worker that follows another has the same, and suspends by it. As an
# ordinary user with CAP_SYS_PTRACE alone the daemon suspends other users' processes.
set -eu
# Needs root.
[ "$(id -u)" = 0 ] || exec "$SOURCE/tests/common/as_root.sh" bash "$0" "$@"
# shellcheck source=tests/daemon/daemon.inc.sh
. "$SOURCE/tests/daemon/daemon.inc.sh"
in_a_world

# of PID KEY: what /proc/PID/status says.
of() {
	awk -v key="$2:" '$1 == key {print $2}' "/proc/$1/status"
}

# confined WHO PID EFFECTIVE PERMITTED FILTERS
confined() {
	local had
	for had in CapEff="$3" CapPrm="$4" CapInh=0000000000000000 CapAmb=0000000000000000 \
		NoNewPrivs=1 Seccomp=2 Seccomp_filters="$5"; do
		[ "$(of "$2" "${had%=*}")" = "${had#*=}" ] ||
			fail "the $1's ${had%=*} is $(of "$2" "${had%=*}"), not ${had#*=}"
	done
}

none=0000000000000000
trace=0000000000080000    # CAP_SYS_PTRACE
urgent=0000000000880000   # and CAP_SYS_NICE
filters=$(of self Seccomp_filters) # of the world's
start_daemon
start_offline --seconds 60
start_online
suspend_offline
confined watchdog "$daemon" $none $urgent $((filters + 1))
confined worker "$(worker)" $trace $trace $((filters + 2))
first=$(worker)
kill -KILL "$first"
exec {words}>&- {answers}<&-
rm "$work/words" "$work/answers"
until_true 100 says ".daemon.worker_pid != $first and
	any(.processes[]; .pid == $offline and .level == \"trap\")" ||
	fail "no other worker took it over"
start_online
suspend_offline
confined "second worker" "$(worker)" $trace $trace $((filters + 2))
kill -TERM "$daemon"
wait "$daemon" || fail "exit code $?"

# An ordinary user's: the capability comes by the ambient set, as AmbientCapabilities= does it.
chmod 711 "$work"
mkdir "$work/own"
chown 65534:65534 "$work/own"
exec {words}>&- {answers}<&-
kill -KILL "$offline"
rm "$work/words" "$work/answers"
KFDSHIM_SOCKET=$work/own/socket
cp "$BUILD/kfdschedd" "$work/kfdschedd"
chmod 755 "$work/kfdschedd"
chmod 644 "$work/patient.ini"
setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps=-all,+sys_ptrace --ambient-caps=-all,+sys_ptrace \
	"$work/kfdschedd" --foreground --socket "$KFDSHIM_SOCKET" "${daemon_options[@]}" 2>>"$work/log" &
daemon=$!
children+=("$daemon")
until_true 50 test -S "$KFDSHIM_SOCKET" || fail "no socket of the ordinary user's"
start_offline --seconds 60
start_online
suspend_offline
confined "user's watchdog" "$daemon" $none $trace $((filters + 1))
confined "user's worker" "$(worker)" $trace $trace $((filters + 2))
