#!/bin/bash
# SPDX-License-Identifier: MIT
# Proves: a separate process serves the metrics. It has no capability, no-new-privs, a filter of its
# own, ordinary priority, only the descriptors that it needs (none of the device) and no writable
# memory of watchdog and worker. If it is attacked, stopped or killed, the worker stays, the daemon
# replies to status, and the counters go on; so they do if a worker is killed. A daemon that has
# ended leaves the port free.
set -eu
# shellcheck source=tests/lib/daemon.inc.sh
. "$SOURCE/tests/lib/daemon.inc.sh"
in_a_world

# shellcheck source=tests/lib/metrics.inc.sh
. "$SOURCE/tests/lib/metrics.inc.sh"

# The daemon's child that serves metrics; fails if there is none.
http() {
	local pid children
	read -r -a children <"/proc/$daemon/task/$daemon/children"
	for pid in "${children[@]}"; do
		if [ "$(cat "/proc/$pid/comm" 2>/dev/null)" = kfdschedd-http ]; then
			echo "$pid"
			return 0
		fi
	done
	return 1
}

# priority_of PID: policy and nice value
priority_of() {
	sed 's/.*) //' "/proc/$1/stat" | awk '{print $39, $17}'
}

# confined PID: the process has these rights and no others.
confined() {
	local had mappings fd lines
	lines=$(readlink "/proc/$(pgrep -P "$daemon" -x kfdschedd-log)/fd/0") # of the log
	for had in CapInh=0000000000000000 CapPrm=0000000000000000 CapEff=0000000000000000 \
		CapAmb=0000000000000000 NoNewPrivs=1 Seccomp=2 Seccomp_filters=$((filters + 2)) \
		Threads=1; do
		[ "$(proc_status "$1" "${had%=*}")" = "${had#*=}" ] ||
			fail "${had%=*} is $(proc_status "$1" "${had%=*}"), not ${had#*=}"
	done
	# It gives up a higher priority, but keeps a lower one of its parent.
	read -r policy nice < <(priority_of "$1")
	[[ $policy == 0 && $nice -ge 0 ]] || fail "its policy is $policy, its nice value $nice"
	for fd in "/proc/$1/fd/"*; do
		case $(readlink "$fd") in
		socket:* | anon_inode:*eventpoll* | /dev/null | "$lines") ;;
		"$work/log") [ "${fd##*/}" = 2 ] || fail "descriptor ${fd##*/} is the log" ;;
		*) fail "it has $(readlink "$fd") open" ;;
		esac
	done
	# It can write one page only, that of its own counters.
	mappings=$(awk '$2 ~ /^.w.s$/ {print $1}' "/proc/$1/maps")
	if [ "$(wc -l <<<"$mappings")" != 1 ] ||
		[ $((0x${mappings#*-} - 0x${mappings%-*})) -ne 4096 ]; then
		fail "it may write $mappings"
	fi
}

filters=$(proc_status self Seccomp_filters) # those of the simulation
start_daemon
scraped "the first" kfdsched_worker_restarts_total==0
first_http=$(http) || fail "no process kfdschedd-http"
confined "$first_http"
start_offline --seconds 300
start_online
worker=$(worker)
[ "$(proc_status "$worker" Seccomp)" = 2 ] || fail "the worker has no filter"
grep -qx kfdschedd-http "/proc/$worker/task/"*/comm && fail "a thread of the worker serves"
send cycle 1 5 2000
scraped "after 5 cycles" "kfdsched_suspends_total>=5"

# When it is killed, another one starts with the same counts. After the second time there is a pause.
kill -KILL "$first_http"
scraped "after its end" "kfdsched_suspends_total>=5" kfdsched_worker_restarts_total==0
second_http=$(http) || fail "no other process kfdschedd-http"
[ "$second_http" != "$first_http" ] || fail "the metrics process is still $first_http"
confined "$second_http"
kill -KILL "$second_http"
scraped "after another end" "kfdsched_suspends_total>=5" kfdsched_worker_restarts_total==0

# When it is stopped, status and scheduling go on, and it goes on when it is continued.
kill -STOP "$(http)"
send cycle 2 5 2000
says ".daemon.worker_pid == $worker" || fail "no status while it is stopped"
kill -CONT "$(http)"
scraped "after a stop" "kfdsched_suspends_total>=10"

mkfifo "$work/hold"
metrics attack "$port" <"$work/hold" >"$work/attack" &
children+=("$!")
exec {hold}>"$work/hold"
until_true 100 grep -qx attacking "$work/attack" || fail "no attack"
attacked=$(http)
send cycle 3 5 2000
says ".daemon.worker_pid == $worker" || fail "no status during an attack"
exec {hold}>&-
scraped "after an attack" "kfdsched_suspends_total>=15" kfdsched_refused_calls_total==0
[ "$(http)" = "$attacked" ] || fail "an attack has ended it"
[ "$(worker)" = "$worker" ] || fail "the worker was replaced"

# The counts go on when the worker is replaced.
exec {words}>&- {answers}<&-
kill -KILL "$online" "$offline" "$worker"
scraped "after the end of a worker" "kfdsched_suspends_total>=15" kfdsched_worker_restarts_total\>=1 kfdsched_clients==0

kill -TERM "$daemon"
wait "$daemon" || fail "exit code $?"
grep -q "does not end; killing it" "$work/log" && fail "its worker did not end"
start_daemon
rm "$work/text"
scraped "of another daemon" kfdsched_suspends_total==0
