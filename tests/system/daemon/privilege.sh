#!/bin/bash
# SPDX-License-Identifier: MIT
# Proves: worker, watchdog, reader and executor processes have the capabilities they need and no
# other, no-new-privs and a filter each; those that follow a worker have the same, and suspend
# by it. An executor process has no socket. The process that accepts connections has no
# capability, of the memory that the processes share it can write its own page alone, and it has
# no descriptor by which worker and executor processes wake each other. Started as root, the
# daemon does not read a configuration again that only another user may read. As an
# ordinary user with CAP_SYS_PTRACE alone the daemon suspends other users' processes.
set -eu
# shellcheck source=tests/lib/daemon.inc.sh
. "$SOURCE/tests/lib/daemon.inc.sh"
as_root "$@"
in_a_world

# confined WHO PID EFFECTIVE PERMITTED FILTERS
confined() {
	local had
	for had in CapEff="$3" CapPrm="$4" CapInh=0000000000000000 CapAmb=0000000000000000 \
		NoNewPrivs=1 Seccomp=2 Seccomp_filters="$5"; do
		[ "$(proc_status "$2" "${had%=*}")" = "${had#*=}" ] ||
			fail "the $1's ${had%=*} is $(proc_status "$2" "${had%=*}"), not ${had#*=}"
	done
}

# process NAME: the last process of the daemon with this name.
process() {
	local comm
	for comm in /proc/[0-9]*/comm; do
		if [ "$(cat "$comm" 2>/dev/null)" = "$1" ] && ! has_ended "$(basename "${comm%/comm}")"; then
			basename "${comm%/comm}"
		fi
	done | tail -n 1
}

# events_of_both PID PID: the numbers of the event descriptors that both have.
events_of() {
	sed -n 's/^eventfd-id: *//p' "/proc/$1/fdinfo/"* | sort -u
}
events_of_both() {
	comm -12 <(events_of "$1") <(events_of "$2")
}

none=0000000000000000
trace=0000000000080000    # CAP_SYS_PTRACE
urgent=0000000000880000   # and CAP_SYS_NICE
filters=$(proc_status self Seccomp_filters) # of the world's
start_daemon
start_offline --seconds 600
start_online
suspend_offline
confined watchdog "$daemon" $none $urgent $((filters + 1))
confined worker "$(worker)" $none $none $((filters + 2))
confined executor "$(executor)" $trace $trace $((filters + 2))
[ -z "$(find "/proc/$(executor)/fd" -lname 'socket:*')" ] || fail "an executor process has a socket"
door=$(process kfdschedd-door)
confined reader "$(process kfdschedd-read)" $trace $trace $((filters + 2))
confined door "$door" $none $none $((filters + 2))
# But for the page of the world's own clock, and the descriptor by which that ends a wait.
shared=$(awk '$2 ~ /^.w.s/ && $6 !~ "^/run/kfdsim-time/"' "/proc/$door/maps" | wc -l)
[ "$shared" = 1 ] || fail "the door can write $shared shared mappings"
[ -n "$(events_of_both "$(worker)" "$daemon")" ] || fail "the worker can take no events of the executors"
[ -z "$(events_of_both "$door" "$daemon")" ] || fail "the door can take events of the executors"
# Root's right to pass by the permissions of files is gone at a reload.
chown 65534 "$work/patient.ini"
chmod 600 "$work/patient.ini"
kill -HUP "$daemon"
until_true 100 grep -q "patient.ini: Permission denied; the old configuration stays" "$work/log" ||
	fail "a configuration of another user's is read again"
chown 0 "$work/patient.ini"
first=$(worker)
kill -KILL "$first"
exec {words}>&- {answers}<&-
rm "$work/words" "$work/answers"
until_true 100 says ".daemon.worker_pid != $first and
	any(.processes[]; .pid == $offline and .level == \"trap\")" ||
	fail "no other worker took it over"
start_online
suspend_offline
confined "second worker" "$(worker)" $none $none $((filters + 2))
confined "second executor" "$(executor)" $trace $trace $((filters + 2))
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
start_offline --seconds 600
start_online
suspend_offline
confined "user's watchdog" "$daemon" $none $trace $((filters + 1))
confined "user's worker" "$(worker)" $none $none $((filters + 2))
confined "user's executor" "$(executor)" $trace $trace $((filters + 2))
