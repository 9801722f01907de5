# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# What the attackers' tests share: a daemon with an offline process of root that works on a
# simulated GPU and an online client that preempts it, an attacker of another user, and what
# must hold during and after each attack (judge). Brings daemon.inc.sh; reads BUILD, SOURCE.

attackers=$BUILD/tests/system/attack

# The attacker has another user id than the daemon, and so more than one id is needed: root has
# all, a plain user those of his ranges in /etc/subuid, by newuidmap.
if [ "$EUID" -ne 0 ]; then
	if ! unshare --user --map-root-user --map-auto true 2>/dev/null; then
		echo "FAILED: $0 needs a second user id: run it as root, or install uidmap and give user" \
			"$(id -un) a range in /etc/subuid and /etc/subgid" >&2
		exit 1
	fi
	exec unshare --user --map-root-user --map-auto bash "$0"
fi

# OLD_KERNEL: the daemon cannot have the kernel refuse descriptors (SO_PASSRIGHTS, Linux 6.16).
if [ -n "${OLD_KERNEL:-}" ] && [ -z "${WITHOUT_PASSRIGHTS:-}" ]; then
	WITHOUT_PASSRIGHTS=1 exec "$attackers/attack_without_passrights" bash "$0"
fi

# The simulated driver shares the cores with everything else, which a real one does not: what runs
# here comes first where that is allowed, and the attackers last.
renice -n -10 -p $$ >/dev/null 2>&1 || true

# shellcheck source=tests/lib/daemon.inc.sh
. "$SOURCE/tests/lib/daemon.inc.sh"

# A slow GPU and long kernels, because others need more of the machine's cores than a test may take.
offline_trace=$SOURCE/traces/offline_gemm4000_f32.csv
world_options=(--gpu mi210 --time-scale 0.05)

attacker_id=65534
as_attacker() {
	setpriv --reuid="$attacker_id" --regid="$attacker_id" --clear-groups nice -n 10 "$@"
}

# The node through which the attacker mounts a FUSE file system: $fuse_device.
find_fuse_device() {
	fuse_device=/dev/kfdshim-fuse
	if ! mknod -m 666 "$fuse_device" c 10 229 2>/dev/null; then
		fuse_device=/dev/fuse
		as_attacker test -r /dev/fuse -a -w /dev/fuse ||
			fail "another user may not open /dev/fuse: run this as root, or chmod 666 /dev/fuse"
	fi
}

# ---- the daemon's processes ----

# A process and all below it.
tree_of() {
	local child children
	echo "$1"
	read -r -d '' -a children < <(cat "/proc/$1/task"/*/children 2>/dev/null) || true
	for child in "${children[@]}"; do
		tree_of "$child"
	done
}
# KiB in memory, shared pages counted in each process.
daemon_memory() {
	local pid
	for pid in $(tree_of "$daemon"); do
		grep -s '^VmRSS:' "/proc/$pid/status" || true
	done | awk '{sum += $2} END {print sum + 0}'
}
daemon_files() {
	local pid
	for pid in $(tree_of "$daemon"); do
		ls "/proc/$pid/fd" 2>/dev/null || true
	done | wc -l
}

# ---- what others notice ----

# Asks as root until $work/asking is gone: a line each time, microseconds and exit code. At the
# daemon's own real-time priority where that is allowed, so that its delay is seen and not the
# wait for a core. Where the machine stands still for a command that asks nothing ("stall"), the
# question would show no more than that.
ask_often() {
	local from code
	chrt --rr --pid 2 "$BASHPID" 2>/dev/null || true
	while [ -e "$work/asking" ]; do
		from=${EPOCHREALTIME/[.,]/}
		"$kfdsched" status --help >/dev/null
		if [ $((${EPOCHREALTIME/[.,]/} - from)) -gt 250000 ]; then
			echo stall
			continue
		fi
		from=${EPOCHREALTIME/[.,]/}
		code=0
		timeout 5 "$kfdsched" status >/dev/null 2>>"$work/not_answered" || code=$?
		echo "$((${EPOCHREALTIME/[.,]/} - from)) $code"
		sleep 0.1
	done >>"$work/asked"
}
# Registers workloads of a third user in the same way: a line each, its exit code.
newcomer_id=65533
come_often() {
	local code
	chrt --rr --pid 2 "$BASHPID" 2>/dev/null || true
	while [ -e "$work/asking" ]; do
		code=0
		setpriv --reuid="$newcomer_id" --regid="$newcomer_id" --clear-groups \
			"$work/attack_newcomer" "$KFDSHIM_SOCKET" 2>>"$work/not_welcomed" || code=$?
		echo "$code"
		sleep 0.2
	done >>"$work/came"
}
newcomers_required=false
newcomers_must_come() {
	newcomers_required=true
}
start_asking() {
	local name
	for name in asked not_answered came not_welcomed asking; do
		: >"$work/$name"
	done
	ask_often &
	asking=$!
	come_often &
	coming=$!
	children+=("$asking" "$coming")
}
# $asked, $ask_worst_ms, $unanswered (also: not within a second), $stalls; $came, $turned_away
end_asking() {
	rm -f "$work/asking"
	wait "$asking" "$coming" || true
	came=$(wc -l <"$work/came")
	turned_away=$(grep -cvx 0 "$work/came" || true)
	read -r asked ask_worst_ms unanswered stalls <<<"$(awk '
		$1 == "stall" {stalls++; next}
		{n++; if ($1 > worst) worst = $1; if ($2 != 0 || $1 > 1000000) late++}
		END {print n + 0, int(worst / 1000), late + 0, stalls + 0}' "$work/asked")"
}

# preempt TIMES MS: $median_us and $worst_us from active to suspended; $never: how often that or
# the resume took longer than a second.
preempt() {
	echo "$1 $2" >&"$words"
	read -r -t 120 -u "$answers" median_us worst_us never || fail "the online client has ended"
}

# Far above what a busy machine adds to the usual median.
is_usual() {
	[ "$1" -le $((10 * usual_us + 100000)) ]
}

# ---- before, during and after ----

# The world, with nothing wrong: what is usual.
begin() {
	local file
	chmod 755 "$work"
	for file in "$attackers"/attack_*; do
		install -m 755 "$file" "$work"
	done
	start_daemon
	chmod 755 "$(dirname "$KFDSHIM_SOCKET")"
	start_offline --seconds 900
	mkfifo "$work/words" "$work/answers"
	"$work/attack_online" "$KFDSHIM_SOCKET" "$(gpu_id)" <"$work/words" >"$work/answers" \
		2>>"$work/log" &
	online=$!
	children+=("$online")
	exec {words}>"$work/words" {answers}<"$work/answers"
	read -r -t 60 -u "$answers" answer
	[ "$answer" = ready ] || fail "attack_online: $answer"
	preempt 10 20 # the first ones take longer
	preempt 30 20
	[ "$never" -eq 0 ] || fail "before any attack $never of 30 preemptions took longer than 1 s"
	usual_us=$median_us
	usual_worst_us=$worst_us
	restarts=$(status | jq '.daemon.restarts')
	worker=$(worker)
	usual_memory=$(daemon_memory)
	usual_files=$(daemon_files)
	problems=()
}

problem() {
	problems+=("$*")
}

# attack LABEL PROGRAM ARGUMENT...: runs an attacker's program to its end, and preempts and asks
# all the while.
attack() {
	local label=$1 attacker program=$2
	local rounds=0 late=0 worst=0 slowest=0 memory peak=0
	shift 2
	start_asking
	as_attacker timeout 120 "$work/attack_$program" "$KFDSHIM_SOCKET" "$@" >"$work/attacker" \
		2>&1 &
	attacker=$!
	children+=("$attacker")
	while ! has_ended "$attacker"; do
		preempt 10 20
		rounds=$((rounds + 10))
		late=$((late + never))
		[ "$worst_us" -le "$worst" ] || worst=$worst_us
		[ "$median_us" -le "$slowest" ] || slowest=$median_us
		memory=$(daemon_memory)
		[ "$memory" -le "$peak" ] || peak=$memory
	done
	wait "$attacker" || fail "$label: the attacker ended with $?: $(cat "$work/attacker")"
	end_asking
	sed "s/^/$label: attacker: /" "$work/attacker"
	echo "$label: during: root's status asked $asked times, worst $ask_worst_ms ms, $unanswered not within 1 s ($stalls stalls of the machine)"
	echo "$label: during: of $came new clients of a third user $turned_away were not welcomed within 1 s"
	echo "$label: during: $rounds preemptions, slowest median of ten $slowest us (usual $usual_us)," \
		"worst $worst us (usual $usual_worst_us), $late not within 1 s"
	echo "$label: during: the daemon's memory at most $peak KiB (usual $usual_memory)"
	[ "$unanswered" -eq 0 ] ||
		problem "$label: $unanswered of $asked of root's questions were not answered within 1 s: $(sort "$work/not_answered" | uniq -c | sort -rn | head -n 1)"
	[ "$turned_away" -eq 0 ] || [ "$newcomers_required" = false ] ||
		problem "$label: $turned_away of $came new clients were not welcomed within 1 s: $(sort "$work/not_welcomed" | uniq -c | sort -rn | head -n 1)"
	[ "$asked" -gt 0 ] || problem "$label: no question was asked"
	[ "$late" -eq 0 ] || problem "$label: $late of $rounds preemptions took longer than 1 s"
	is_usual "$slowest" || problem "$label: a median of ten preemptions was $slowest us, usually $usual_us"
	# shellcheck disable=SC2034 # for the tests
	peak_memory=$peak
	judge "$label"
}

# KiB and descriptors that an attack may leave behind: freed memory that the allocator keeps,
# and what is opened once.
memory_slack=4096
files_slack=8
is_as_before() {
	[ "$(daemon_memory)" -le $((usual_memory + memory_slack)) ] &&
		[ "$(daemon_files)" -le $((usual_files + files_slack)) ]
}

# After an attack: a running worker that is the same as before, for which everything is as usual.
judge() {
	local label=$1
	start_asking
	preempt 30 20
	until_true 100 is_as_before ||
		problem "$label: 10 s later the daemon has $(daemon_memory) KiB (usual $usual_memory) and $(daemon_files) descriptors (usual $usual_files)"
	end_asking
	echo "$label: after: root's status worst $ask_worst_ms ms, $unanswered of $asked not within 1 s;" \
		"preemption median $median_us us, worst $worst_us us, $never of 30 not within 1 s;" \
		"$(daemon_memory) KiB, $(daemon_files) descriptors (usual $usual_files)"
	[ "$unanswered" -eq 0 ] || problem "$label: afterwards $unanswered of $asked questions were not answered within 1 s"
	[ "$turned_away" -eq 0 ] || problem "$label: afterwards $turned_away of $came new clients were not welcomed within 1 s"
	[ "$never" -eq 0 ] || problem "$label: afterwards $never of 30 preemptions took longer than 1 s"
	is_usual "$median_us" || problem "$label: afterwards the median preemption took $median_us us, usually $usual_us"
	says ".daemon.worker_pid == $worker and .daemon.restarts == $restarts" ||
		problem "$label: worker $worker was replaced: $(grep -E 'worker [0-9]+ (hangs|is stopped)|worker ended' "$work/log" | sort | uniq -c | sort -rn | head -n 2 | tr -s ' \n' ' ')"
	until_true 50 says 'all(.processes[]; .state == "running")' ||
		problem "$label: not everything runs: $(status 2>&1 | jq -c '[.processes[]?|{pid, state}]' 2>&1)"
}

# The verdict on all attacks. The offline process has done each of its workgroups once.
finish() {
	end_offline
	if [ ${#problems[@]} -gt 0 ]; then
		printf 'FAILED: %s\n' "${problems[@]}" >&2
		exit 1
	fi
}
