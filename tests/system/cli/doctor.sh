#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Proves: kfdsched doctor prints one table, with one advice for each problem, in simulations and
# without a GPU, as root and as a plain user, with a daemon and without.
set -eu
# shellcheck source=tests/lib/harness.inc.sh
. "$SOURCE/tests/lib/harness.inc.sh"
# shellcheck source=tests/lib/stand_in.inc.sh
. "$SOURCE/tests/lib/stand_in.inc.sh"
as_root "$@"
unset XDG_RUNTIME_DIR HSA_ENABLE_INTERRUPT HSA_TOOLS_LIB KFDSHIM_LEVEL KFDSHIM_VRAM_LIMIT
export ASAN_OPTIONS=${ASAN_OPTIONS:-detect_leaks=0}

# doctor CODE ARGUMENT...: runs doctor; the JSON in $work/out keeps to its schema.
doctor() {
	local code=$1
	shift
	expect "$code" "${as[@]}" "$bin/kfdsched" doctor --json "$@"
	jq -er 'if .simulated and .usable == ([.findings[] | select(.verdict == "missing")] == []) and
		all(.findings[];
			(.verdict | IN("ok", "warning", "missing", "unknown")) and
			((.verdict == "unknown") or ((.verdict == "ok") == (.advice == null))) and
			((.verdict == "unknown") or .found != null))
		then .findings[].check else null end' "$work/out" >"$work/checks" ||
		fail "a line is not as it has to be"
	cat "$work/checks" >>"$work/names"
}

# lines CHECK JQ ...: each expression is true of the lines of its check.
lines() {
	local program="" bad
	while [ $# -gt 0 ]; do
		program+="(if [.findings[] | select(.check == \"$1\")] | length > 0 and all(.[]; $2)
			then empty else \"$1\" end),"
		shift 2
	done
	bad=$(jq -r "$program empty" "$work/out") || fail "jq does not take: $program"
	[ -z "$bad" ] || fail "not as expected: $bad"
}
good='.verdict == "ok"'

inside_as_root() {
	doctor 0
	[ "$(jq -r '.profile, .kernel' "$work/out" | xargs)" = "mi210 6.12.95" ] || fail "the world"
	# The checks of the machine, in the order of their list, but for those of a daemon and of oddities.
	"$bin/kfdsched" doctor --list | awk '$2 == "system" || $2 == "GPU" { print $1 }' |
		grep -vxE 'policy|card|worker|suspends|refused_calls|connections|processes' >"$work/list"
	diff "$work/list" "$work/checks" || fail "the lines are: $(xargs <"$work/checks")"
	[ "$(wc -l <"$work/list")" -ge 25 ] || fail "the list is: $(xargs <"$work/list")"
	lines driver "$good" kfd_version "$good" kfd_device "$good" cwsr "$good" \
		sched_policy "$good" render_node "$good" debugging "$good" queue_slots "$good" \
		vram_limits "$good" vram "$good" shim "$good" agent "$good" memory_files "$good" \
		environment "$good" interrupts "$good" tools "$good" \
		gpu '.gpu_id != null and (.found | test("gfx90a"))' \
		kernel '.found | test("rules of 6.12.95")' \
		daemon '.verdict == "warning" and (.advice | test("start one as root"))'

	expect 0 "$bin/kfdsched" doctor -v
	[ ! -s "$work/err" ] || fail "doctor prints something on stderr"
	head -n 1 "$work/out" | grep -q '^SIMULATED GPU: mi210, .*6\.12\.95' || fail "the output does not say that the GPU is simulated"
	[ "$(grep -c '^CHECK  *VERDICT  *FOUND  *ADVICE$' "$work/out")" = 1 ] || fail "not one table"
	[ "$(sed '1,/^CHECK/d' "$work/out" | wc -l)" = "$(wc -l <"$work/checks")" ] ||
		fail "the table has other lines than --json"
	grep -q "^daemon  *warning  .*kfdschedd' " "$work/out" || fail "no advice about the daemon"

	# These variables of the session affect programs; and the peers could not meet here.
	mkdir -m 0755 "$work/kfdshim"
	as=(env KFDSHIM_PRIORITY=fast HSA_ENABLE_INTERRUPT=0 HSA_TOOLS_LIB=libother.so
		XDG_RUNTIME_DIR="$work")
	doctor 1
	lines environment '.verdict == "warning" and (.found | test("KFDSHIM_PRIORITY=fast"))' \
		interrupts '.verdict == "warning"' \
		tools '.verdict == "warning" and (.found | test("libother.so"))' \
		runtime_folder '.verdict == "missing" and (.found | test("0755"))'
	rmdir "$work/kfdshim"

	# These libraries cannot be used, and this daemon does not reply.
	cp "$bin"/*.so "$work"
	cp "$work/libkfdshim.so" "$bin/libkfdshim-agent.so" # a library, but not that one
	echo nonsense >"$bin/libkfdshim.so"
	FAKE_FAULT=silent FAKE_ANSWER=true start_stand_in "$work/silent"
	as=(env KFDSHIM_DISABLE=1)
	doctor 1 --socket "$work/silent"
	lines environment '.verdict == "missing"' \
		agent '.verdict == "missing" and (.found | test("another build"))' \
		shim '.verdict == "missing" and (.found | test("cannot be preloaded: "))' \
		daemon '.verdict == "missing" and (.found | test("does not reply"))'
	cp "$work"/*.so "$bin"
	as=()
}

# status_says JQ: the expression is true of the daemon's status, which is in $work/out.
status_says() {
	"$kfdsched" status --json >"$work/out" 2>/dev/null && jq -e "$1" "$work/out" >/dev/null
}

inside_with_daemon() {
	export KFDSHIM_SOCKET=$work/run/socket
	# The configuration tolerates slow suspends, because a busy host makes suspends slow.
	printf '[scheduler]\nslow_suspend_us = 10000000\n' >"$work/patient.ini"
	"$bin/kfdschedd" --foreground --socket "$KFDSHIM_SOCKET" --config "$work/patient.ini" 2>"$work/log" &
	children+=("$!")
	soon test -S "$KFDSHIM_SOCKET"
	# The workload has little to do, because only its existence matters.
	LD_PRELOAD=$bin/libkfdshim.so KFDSHIM_PRIORITY=offline KFDSHIM_VRAM_LIMIT=1000G \
		"$BUILD/kfdreplay" --trace "$SOURCE/traces/online_resnet50_b1.csv" \
		--rate 0.1 --seconds 300 >/dev/null 2>&1 &
	offline=$!
	children+=("$offline")
	soon status_says '.processes[] | select(.level == "trap")'
	expect 0 "$kfdsched" policy observe
	doctor 0
	# The time of a reply, and whether the watchdog had to start another worker, depend on the host.
	lines daemon "$good" worker '.found | test("^worker [0-9]+ replies within ")' \
		suspends "$good" connections "$good" \
		refused_calls "$good" \
		sys_ptrace '.verdict == "ok" and (.found | test("kfdschedd"))' \
		level ".pid == $offline and .verdict == \"ok\" and (.found | test(\"trap\"))" \
		vram_limits '.verdict == "warning" and (.found | test("1000.0 of 64.0 GiB"))' \
		queue_slots '.found | test("^[1-9]")' \
		policy '.verdict == "warning" and (.advice | test("kfdsched policy strict"))'
	expect 0 "$kfdsched" policy strict

	doctor 0 "$offline"
	jq -e ".pid == $offline and .findings[0].check == \"level\" and
		all(.findings[]; .pid == $offline or (.verdict | IN(\"warning\", \"missing\")))" \
		"$work/out" >/dev/null || fail "doctor PID reports other processes"
	lines has_shim '.found == "libkfdshim.so is loaded"' \
		uses_gpu '.found == "it has opened /dev/kfd"' \
		tracer '.found | test("^kfdschedd")' \
		runtime '.found == "enabled"' \
		process_rocr '.found | test("^ROCr ")'
	# A process without a GPU and without the shim.
	doctor 0 $$
	lines level '.verdict == "warning" and (.advice | test("kfdsched set"))' \
		uses_gpu '.found == "it has not opened /dev/kfd"'
	# The name of a process can be anything, also invalid UTF-8.
	mkfifo "$work/fifo"
	bash -c 'printf "gd\377b" >"/proc/$$/comm"; read -r _ <"$1"' bash "$work/fifo" &
	odd=$!
	children+=("$odd")
	soon env LC_ALL=C grep -q '^gd.b$' "/proc/$odd/comm"
	doctor 0 "$odd"
	lines level '.found | startswith("gd?b: none")'
	restarts=$("$kfdsched" status --json | jq .daemon.worker_restarts)
	kill -KILL "$("$kfdsched" status --json | jq .daemon.worker_pid)"
	soon status_says ".daemon.worker_restarts > $restarts and any(.processes[]; .level == \"trap\")"
	doctor 0
	lines worker '.verdict == "warning" and (.found | test("[0-9] before it ended"))' level "$good"
	refused 1 "process 4000000 has ended" "$kfdsched" doctor 4000000
}

# Another debugger traces the process: it is held at a lower level, and the advice names the debugger.
inside_with_a_debugger() {
	as=()
	strace -o "$work/strace" -e trace=none env "LD_PRELOAD=$bin/libkfdshim.so" \
		KFDSHIM_PRIORITY=1 "$BUILD/kfdreplay" \
		--trace "$SOURCE/traces/online_resnet50_b1.csv" --rate 0.1 --seconds 300 \
		>/dev/null 2>&1 &
	children+=("$!")
	soon status_says '.processes[] | select(.level == "self")'
	traced=$(jq '.processes[] | select(.level == "self").pid' "$work/out")
	doctor 0 "$traced"
	lines level ".verdict == \"warning\" and (.advice | test(\"end strace .process $!.\"))" \
		tracer '.found | test("^strace ")'
	children+=("$traced")
}

# This user may not read the files of other users, and opens only what all users may open.
inside_as_a_user() {
	as=(setpriv --reuid 65534 --regid 65534 --clear-groups)
	doctor 0
	lines daemon "$good" sys_ptrace "$good" policy "$good" \
		runtime_folder '.found == "/dev/shm/kfdshim-65534"' \
		level '.verdict == "ok" and (.found | test("trap"))' \
		vram_limits '.verdict == "unknown" and (.advice | test("as root"))'
	# Another user has used the name before, in a separate /dev/shm, because other tests use it.
	local user=("${as[@]}")
	# shellcheck disable=SC2016 # expanded in there
	as=(unshare --mount sh -c 'mount -t tmpfs none /dev/shm && mkdir -m 0700 /dev/shm/kfdshim-65534 &&
		exec "$@"' taken "${user[@]}")
	doctor 0
	as=("${user[@]}")
	lines runtime_folder '.verdict == "warning" and .found == "/dev/shm/kfdshim-65534 belongs to uid 0"
		and (.advice | test("as root: rm -r /dev/shm/kfdshim-65534$"))'
	doctor 0 $$
	lines level '.verdict == "unknown" and .found == "bash: -"'
	chmod 0660 /dev/kfd /dev/dri/renderD*
	doctor 1 --socket "$work/none"
	lines daemon '.verdict == "warning" and (.advice | test("listens at another socket"))' \
		sys_ptrace '.verdict == "unknown" and .found == null' \
		kfd_device '.verdict == "missing" and (.advice | test("render"))' \
		render_node '.verdict == "missing" and (.advice | test("usermod -aG render"))' \
		vram '.verdict == "unknown"' \
		kfd_version '.verdict == "unknown"'
}

if [ "${1:-}" = inside ]; then
	# A directory that a plain user may read, too.
	chmod 755 "$work"
	bin=$work/bin
	mkdir "$bin"
	cp "$BUILD"/{kfdsched,kfdschedd,libkfdshim.so,libkfdshim-agent.so} "$bin"
	as=()
	inside_as_root
	inside_with_daemon
	inside_as_a_user
	inside_with_a_debugger
	sort -u "$work/names" | while read -r name; do
		"$bin/kfdsched" doctor --list | grep -q "^$name " || fail "$name is not listed"
	done
	exit 0
fi

bin=$BUILD
as=("$BUILD/kfdsim" --gpu mi100 --kernel 7.3 --gpus 2 --)
doctor 0
lines kernel '.found | test("rules of 7.3")' \
	gpu '.found | test("gfx908")' \
	debugging '.verdict == "warning" and (.advice | test("one process"))'
[ "$(grep -cx gpu "$work/checks")" = 2 ] || fail "not two GPUs"
as=("$BUILD/kfdsim" --gpu mi300x-cpx --kernel 6.12.107 --break topology_gpu_can_be_debugged --)
doctor 1
lines kernel '.found | test("rules of 6.12.107")' \
	partition '.verdict == "ok" and .found == "CPX"' \
	debugging '.verdict == "missing"'
[ "$(grep -cx partition "$work/checks")" = 8 ] || fail "not eight nodes"

# The second GPU has a render node, but is not in KFD's topology.
mkdir "$work/nothing"
# shellcheck disable=SC2016 # expanded in there
as=("$BUILD/kfdsim" --gpus 2 -- sh -c 'mount --bind "$0" /sys/class/kfd/kfd/topology/nodes/2 &&
	exec env LD_PRELOAD="$BUILD/libkfdsim-stat.so" "$@"' "$work/nothing")
doctor 0
lines card '.verdict == "warning" and (.found | test("^0000:04:00.0 .renderD129. "))'
[ "$(grep -cx gpu "$work/checks")" = 1 ] || fail "not one GPU"
as=("$BUILD/kfdsim" --gpus 2 -- env LD_PRELOAD="$BUILD/libkfdsim-stat.so")
doctor 0
! grep -qx card "$work/checks" || fail "a GPU with a node is reported"

if [ ! -e /sys/class/kfd ]; then
	expect 1 "$kfdsched" doctor --json --socket "$work/none"
	jq -e '(.simulated | not) and .profile == null and (.usable | not)' "$work/out" >/dev/null ||
		fail "doctor reports something of a GPU without one"
	lines gpu '.verdict == "missing" and (.advice | test("kfdsim"))' \
		kfd_device '.verdict == "missing"' \
		driver '.verdict == "missing" and (.advice | test("modprobe"))' \
		cwsr '.verdict == "unknown" and .found == null'
	expect 1 "$kfdsched" doctor -v --socket "$work/none"
	! grep -q SIMULATED "$work/out" || fail "simulated, without kfdsim"
	grep -q '^cwsr  *unknown  -$' "$work/out" || fail "what is not known is not '-'"
fi
"$BUILD/kfdsim" --gpu mi210 -- bash "$0" inside
