#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# kfdsched doctor in simulated worlds and without a GPU, as root and as a plain user,
# with a daemon and without: one table, one advice for each thing that is amiss.
set -eu
# shellcheck source=tests/cli/cli.inc.sh
. "$SOURCE/tests/cli/cli.inc.sh"
unset XDG_RUNTIME_DIR HSA_ENABLE_INTERRUPT HSA_TOOLS_LIB KFDSHIM_LEVEL KFDSHIM_VRAM_LIMIT
export ASAN_OPTIONS=${ASAN_OPTIONS:-verify_asan_link_order=0:detect_leaks=0}

# doctor CODE ARGUMENT...: its JSON in $work/out, which is as it has to be.
doctor() {
	local code=$1
	shift
	expect "$code" "${as[@]}" "$bin/kfdsched" doctor --json "$@"
	jq -e '.simulated and .usable == ([.findings[] | select(.verdict == "missing")] == []) and
		all(.findings[];
			(.verdict | IN("ok", "warning", "missing", "unknown")) and
			((.verdict == "unknown") or ((.verdict == "ok") == (.advice == null))) and
			((.verdict == "unknown") or .found != null))' "$work/out" >/dev/null ||
		fail "a line is not as it has to be"
	jq -r '.findings[].check' "$work/out" >>"$work/names"
}

# line CHECK JQ: the lines of that check are so.
line() {
	jq -e "[.findings[] | select(.check == \"$1\")] | length > 0 and all(.[]; $2)" \
		"$work/out" >/dev/null || fail "$1: not $2"
}

inside_as_root() {
	doctor 0
	[ "$(jq -r '.profile, .kernel' "$work/out" | xargs)" = "mi210 6.12.95" ] || fail "the world"
	jq -r '.findings[].check' "$work/out" | xargs >"$work/checks"
	[ "$(cat "$work/checks")" = "kernel driver kfd_version kfd_device cwsr sched_policy gpu \
render_node debugging partition queue_slots vram_limits yama ptrace sys_ptrace pid_namespace \
hidepid daemon shim agent runtime_folder memory_files open_files rocr environment interrupts \
tools" ] || fail "the lines are: $(cat "$work/checks")"
	for check in driver kfd_version kfd_device cwsr sched_policy gpu render_node debugging \
		queue_slots vram_limits shim agent memory_files environment; do
		line "$check" '.verdict == "ok"'
	done
	line gpu '.gpu_id != null and (.found | test("gfx90a"))'
	line kernel '.found | test("rules of 6.12.95")'
	line daemon '.verdict == "warning" and (.advice | test("start one as root"))'

	expect 0 "$bin/kfdsched" doctor
	[ ! -s "$work/err" ] || fail "doctor talks"
	head -n 1 "$work/out" | grep -q '^SIMULATED GPU: mi210, .*6\.12\.95' || fail "not said: simulated"
	[ "$(grep -c '^WHAT  *VERDICT  *FOUND  *ADVICE$' "$work/out")" = 1 ] || fail "not one table"
	[ "$(sed '1,/^WHAT/d' "$work/out" | wc -l)" = "$(wc -w <"$work/checks")" ] ||
		fail "the table has other lines than --json"
	grep -q "^daemon  *warning  .*kfdschedd'" "$work/out" || fail "no advice about the daemon"

	# What this session would do to programs.
	as=(env KFDSHIM_PRIORITY=fast)
	doctor 0
	line environment '.verdict == "warning" and (.found | test("KFDSHIM_PRIORITY=fast"))'
	as=(env KFDSHIM_DISABLE=1 HSA_ENABLE_INTERRUPT=0 HSA_TOOLS_LIB=libother.so)
	doctor 1
	line environment '.verdict == "missing"'
	line interrupts '.verdict == "warning"'
	line tools '.verdict == "warning" and (.found | test("libother.so"))'
	as=(env XDG_RUNTIME_DIR="$work")
	mkdir -m 0755 "$work/kfdshim"
	doctor 1 # nobody could meet
	line runtime_folder '.verdict == "missing" and (.found | test("0755"))'
	rmdir "$work/kfdshim"
	as=()

	# Libraries that cannot be used.
	mv "$bin/libkfdshim-agent.so" "$work/agent"
	doctor 1
	line agent '.verdict == "missing"'
	mv "$work/agent" "$bin/libkfdshim-agent.so"
	cp "$bin/libkfdshim.so" "$work/shim"
	echo nonsense >"$bin/libkfdshim.so"
	doctor 1
	line shim '.verdict == "missing" and (.found | test("cannot be preloaded: "))'
	cp "$work/shim" "$bin/libkfdshim.so"

	# A daemon that does not answer.
	FAKE_FAULT=silent FAKE_ANSWER=true start_daemon "$work/silent"
	doctor 1 --socket "$work/silent"
	line daemon '.verdict == "missing" and (.found | test("does not answer"))'
}

inside_with_daemon() {
	export KFDSHIM_SOCKET=$work/run/socket
	"$bin/kfdschedd" --foreground --socket "$KFDSHIM_SOCKET" 2>"$work/log" &
	started="$started $!"
	for _ in $(seq 100); do
		[ ! -S "$KFDSHIM_SOCKET" ] || break
		sleep 0.05
	done
	LD_PRELOAD=$bin/libkfdshim.so KFDSHIM_PRIORITY=offline KFDSHIM_VRAM_LIMIT=1000G \
		"$BUILD/kfdreplay" --trace "$SOURCE/traces/offline_gpt2m_train_8x1024.csv" \
		--closed --seconds 60 >/dev/null 2>&1 &
	offline=$!
	started="$started $offline"
	for _ in $(seq 100); do
		"$kfdsched" status --json >"$work/out" 2>/dev/null || true
		! jq -e '.processes[] | select(.level == "trap")' "$work/out" >/dev/null || break
		sleep 0.1
	done
	doctor 0
	line daemon '.verdict == "ok"'
	line worker '.verdict == "ok"'
	line sys_ptrace '.verdict == "ok" and (.found | test("kfdschedd"))'
	line level ".pid == $offline and .verdict == \"ok\" and (.found | test(\"trap\"))"
	line vram_limits '.verdict == "warning" and (.found | test("1000.0 of 64.0 GiB"))'
	line queue_slots '.found | test("^[1-9]")'
	line policy '.verdict == "ok" and .found == "strict"'
	"$kfdsched" policy observe >/dev/null
	doctor 0
	line policy '.verdict == "warning" and (.advice | test("kfdsched policy strict"))'
	"$kfdsched" policy strict >/dev/null

	doctor 0 "$offline"
	jq -e ".pid == $offline and .findings[0].check == \"level\" and
		all(.findings[]; .pid == $offline or (.verdict | IN(\"warning\", \"missing\")))" \
		"$work/out" >/dev/null || fail "doctor PID tells of others"
	line has_shim '.found == "libkfdshim.so is loaded"'
	line uses_gpu '.found == "it has opened /dev/kfd"'
	line tracer '.found | test("^kfdschedd")'
	line runtime '.found == "enabled"'
	line process_rocr '.found | test("^ROCr ")'
	# One that has no GPU, and no shim.
	doctor 0 $$
	line level '.verdict == "warning" and (.advice | test("kfdsched run"))'
	line uses_gpu '.found == "it has not opened /dev/kfd"'
	expect 1 "$kfdsched" doctor 4000000
	one_line
	said "process 4000000 is gone"
}

# Who may not read other users' files, and open nothing but what all may.
inside_as_a_user() {
	command -v setpriv >/dev/null && [ "$(id -u)" = 0 ] || return 0
	as=(setpriv --reuid 65534 --regid 65534 --clear-groups)
	doctor 0
	line daemon '.verdict == "ok"'
	line runtime_folder '.found == "/dev/shm/kfdshim-65534"'
	line sys_ptrace '.verdict == "ok"'
	line level '.verdict == "ok" and (.found | test("trap"))' # so says the daemon
	line vram_limits '.verdict == "unknown" and (.advice | test("as root"))'
	doctor 0 $$
	line level '.verdict == "unknown" and .found == "bash: -"'
	doctor 0 --socket "$work/none"
	line daemon '.verdict == "warning" and (.advice | test("listens elsewhere"))'
	line sys_ptrace '.verdict == "unknown" and .found == null'
	chmod 0660 /dev/kfd /dev/dri/renderD*
	doctor 1
	line kfd_device '.verdict == "missing" and (.advice | test("render"))'
	line render_node '.verdict == "missing" and (.advice | test("usermod -aG render"))'
	line kfd_version '.verdict == "unknown"'
}

if [ "${1:-}" = inside ]; then
	# Where a plain user may read it, too.
	chmod 755 "$work"
	bin=$work/bin
	mkdir "$bin"
	cp "$BUILD"/{kfdsched,kfdschedd,libkfdshim.so,libkfdshim-agent.so} "$bin"
	as=()
	inside_as_root
	inside_with_daemon
	inside_as_a_user
	sort -u "$work/names" | while read -r name; do
		grep -q "^| .*\`$name\`" "$SOURCE/docs/formats.md" || fail "$name is not documented"
	done
	exit 0
fi

bin=$BUILD
as=("$BUILD/kfdsim" --gpu mi100 --kernel 7.3 --gpus 2 --)
doctor 0
line kernel '.found | test("rules of 7.3")'
[ "$(jq '[.findings[] | select(.check == "gpu" and (.found | test("gfx908")))] | length' "$work/out")" = 2 ] ||
	fail "not two GPUs"
line debugging '.verdict == "warning" and (.advice | test("one process"))'
as=("$BUILD/kfdsim" --gpu mi300x-cpx --kernel 6.12.107 --)
doctor 0
line kernel '.found | test("rules of 6.12.107")'
line partition '.verdict == "ok" and .found == "CPX"'
[ "$(jq '[.findings[] | select(.check == "partition")] | length' "$work/out")" = 8 ] ||
	fail "not eight nodes"
as=("$BUILD/kfdsim" --gpu mi210 --break topology_gpu_can_be_debugged --)
doctor 1
line debugging '.verdict == "missing"'

if [ ! -e /sys/class/kfd ]; then
	expect 1 "$kfdsched" doctor --json --socket "$work/none"
	jq -e '(.simulated | not) and .profile == null and (.usable | not)' "$work/out" >/dev/null ||
		fail "no GPU, and yet"
	line gpu '.verdict == "missing" and (.advice | test("kfdsim"))'
	line kfd_device '.verdict == "missing"'
	line driver '.verdict == "missing" and (.advice | test("modprobe"))'
	line cwsr '.verdict == "unknown" and .found == null'
	expect 1 "$kfdsched" doctor --socket "$work/none"
	! grep -q SIMULATED "$work/out" || fail "simulated, without kfdsim"
	grep -q '^cwsr  *unknown  -$' "$work/out" || fail "what is not known is not '-'"
fi
"$BUILD/kfdsim" --gpu mi210 -- bash "$0" inside
