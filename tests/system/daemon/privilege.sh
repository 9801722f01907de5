#!/bin/bash
# SPDX-License-Identifier: MIT
# Proves: worker, watchdog, reader and executor processes have the capabilities that they need and
# no others, no-new-privs and a filter each; those of a second worker have the same, and can
# suspend. An executor process has no socket. The process that accepts connections has no
# capability, can write only its own page of the shared memory, and has no descriptor by which
# worker and executor processes wake each other. If it was started as root, the daemon does not
# reload a configuration that only another user may read. As an ordinary user with CAP_SYS_PTRACE
# alone, the daemon suspends processes of other users.
set -eu
# shellcheck source=tests/lib/daemon.inc.sh
. "$SOURCE/tests/lib/daemon.inc.sh"
as_root "$@"
in_a_world

# confined NAME PID EFFECTIVE PERMITTED FILTERS: the process has these rights and no others.
confined() {
	local had
	for had in CapEff="$3" CapPrm="$4" CapInh=0000000000000000 CapAmb=0000000000000000 \
		NoNewPrivs=1 Seccomp=2 Seccomp_filters="$5"; do
		[ "$(proc_status "$2" "${had%=*}")" = "${had#*=}" ] ||
			fail "the $1's ${had%=*} is $(proc_status "$2" "${had%=*}"), not ${had#*=}"
	done
}

# process NAME: prints the last process of the daemon with this name.
process() {
	local comm
	for comm in /proc/[0-9]*/comm; do
		if [ "$(cat "$comm" 2>/dev/null)" = "$1" ] && ! has_ended "$(basename "${comm%/comm}")"; then
			basename "${comm%/comm}"
		fi
	done | tail -n 1
}

# events_of_both PID PID: prints the event descriptors that both processes have.
events_of() {
	sed -n 's/^eventfd-id: *//p' "/proc/$1/fdinfo/"* | sort -u
}
events_of_both() {
	comm -12 <(events_of "$1") <(events_of "$2")
}

none=0000000000000000
trace=0000000000080000    # CAP_SYS_PTRACE
urgent=0000000000880000   # CAP_SYS_PTRACE and CAP_SYS_NICE
filters=$(proc_status self Seccomp_filters) # those of the simulation
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
# The page of the simulation's clock and the descriptor by which it ends a wait are not counted.
shared=$(awk '$2 ~ /^.w.s/ && $6 !~ "^/run/kfdsim-time/"' "/proc/$door/maps" | wc -l)
[ "$shared" = 1 ] || fail "the accepting process can write $shared shared mappings"
[ -n "$(events_of_both "$(worker)" "$daemon")" ] || fail "the worker can take no events of the executors"
[ -z "$(events_of_both "$door" "$daemon")" ] || fail "the accepting process can take events of the executors"
# At a reload, root's right to ignore the permissions of files is gone.
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

# The daemon of an ordinary user gets the capability by the ambient set, as from AmbientCapabilities=.
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
