#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Proves: kfdsched diagnose gives the right verdict of workloads in a simulation: with the shim and
# without, with a daemon and without, stopped, traced, dead, a thread, another user's. One text is
# compared as a whole, and every JSON keeps to its schema.
set -eu
# shellcheck source=tests/lib/daemon.inc.sh
. "$SOURCE/tests/lib/daemon.inc.sh"
as_root "$@"
in_a_world
unset KFDSHIM_SOCKET HSA_ENABLE_INTERRUPT HSA_TOOLS_LIB KFDSHIM_LEVEL KFDSHIM_VRAM_LIMIT
as=()

# diagnose "ARGUMENT..." JQ...: each expression is true of the process in the JSON, which is kept
# for the check of the schema.
diagnose() {
	local -a named
	read -ra named <<<"$1"
	shift
	expect 0 "${as[@]}" "$kfdsched" diagnose --json "${named[@]}"
	[ ! -s "$work/err" ] || fail "diagnose ${named[*]} prints something on stderr"
	jq -c . "$work/out" >>"$work/all"
	for program in "$@"; do
		jq -e ".processes[0] | $program" "$work/out" >/dev/null || fail "not so: $program"
	done
}

# becomes PID JQ: waits until the expression is true.
becomes() {
	for _ in $(seq 300); do
		! "$kfdsched" diagnose --json "$1" 2>/dev/null |
			jq -es ".[0].processes[0] | $2" >/dev/null || return 0
		sleep 0.1
	done
	"$kfdsched" diagnose "$1" >"$work/out" 2>"$work/err" || true
	fail "process $1 does not come to $2"
}

# replay VARIABLE=VALUE...: starts a workload with queues and little work, as $replayed.
replay() {
	env "$@" "$BUILD/kfdreplay" --trace "$SOURCE/traces/online_resnet50_b1.csv" \
		--rate 0.1 --seconds 90000 >/dev/null 2>&1 &
	replayed=$!
	children+=("$replayed")
	becomes "$replayed" '.gpu.queues != null and .gpu.queues != []'
}
# child_in_state PARENT 'NAME STATE': waits for such a child, as $child.
child_in_state() {
	for _ in $(seq 300); do
		child=$(cat /proc/[0-9]*/stat 2>/dev/null | sed -n "s/^\([0-9]*\) $2 $1 .*/\1/p;T;q")
		[ -z "$child" ] || return 0
		sleep 0.1
	done
	fail "process $1 has no child $2"
}
preload=LD_PRELOAD=$BUILD/libkfdshim.so

# ---- numbers that are no workload ----
expect 2 "$kfdsched" diagnose
expect 2 "$kfdsched" diagnose none
refused 1 "there is no process 4000000" "$kfdsched" diagnose 4000000
sleep 300 &
sleeper=$!
children+=("$sleeper")
becomes $sleeper '.process.command == "sleep 300"' # not the shell that was forked for it
diagnose $sleeper '.verdict | test("^process [0-9]+ \\(sleep\\) runs, uses no GPU, and there is nothing to preempt$")' \
	'.preemptible == false and .level == "none" and .best_level == null and .findings == []' \
	'.gpu == (.gpu + {used: false, listed: false, device_open: false, queues: null})' \
	".process.parent == {pid: $$, comm: \"bash\"} and .process.tracer == null" \
	'.process.command == "sleep 300" and .process.kernel == false'
# Its parent ends without a wait for it. (A shell would wait: so it waits until its parent is no
# shell any more.)
bash -c '{ until grep -qs "(sleep)" "/proc/$$/stat"; do sleep 0.05; done; exec sleep 0; } & exec sleep 300' &
parent=$!
children+=("$parent")
child_in_state $parent '(sleep) Z'
zombie=$child
diagnose "$zombie" '.verdict | test("has ended \\(a zombie until sleep \\([0-9]+\\) collects its exit status\\)")' \
	'.process.state == "zombie" and .findings == [] and (.process.state_text | test("zombie"))'

# ---- without a daemon ----
replay
bare=$replayed
diagnose $bare '.verdict | test("runs, uses 1 GPU with [0-9]+ queues, and cannot be preempted now: " +
		"it runs without libkfdshim.so, which its LD_PRELOAD does not name; do: start it with .kfdsched run")' \
	'.level == "none" and .preemptible == false and .gpu.shim == false and .gpu.listed and .gpu.device_open' \
	'.gpu.debug_enabled == false and .gpu.rocr == "5.2.3"' \
	'.by_hand | .can == "no" and (.why | test("ROCr 5.2.3"))' \
	'.levels[0] | .level == "trap" and .can == "no" and (.why | test("ROCr 5.2.3")) and .advice != null' \
	'.levels[1] | .can == "no" and .why == "libkfdshim.so is not loaded"' \
	'any(.gpu.queues[]; .type | IN("compute", "aql"))' \
	'[.findings[].check] | contains(["level", "daemon"])'
kill -STOP $bare
becomes $bare '.process.state == "stopped"'
diagnose $bare '.verdict | test("is stopped by a signal, uses 1 GPU")' \
	".findings[] | select(.check == \"state\").advice == \"continue it: 'kill -CONT $bare'\""
kill -CONT $bare
thread=$(find /proc/$bare/task -mindepth 1 -maxdepth 1 -printf '%f\n' | grep -vx $bare | head -n 1)
diagnose "$thread" ".asked == $thread and .pid == $bare" '.verdict | test("^process '$bare' ")'
expect 0 "$kfdsched" diagnose "$thread"
printed "$thread is a thread of this process"

replay "$preload" KFDSHIM_DISABLE=1
disabled=$replayed
diagnose $disabled '.verdict | test("KFDSHIM_DISABLE=1; do: start it without KFDSHIM_DISABLE")'
replay "$preload" KFDSHIM_PRIORITY=offline
self=$replayed
becomes $self '.level == "self"'
diagnose $self '.verdict | test("can be preempted at level self; for level trap do: start kfdschedd as root$")' \
	'.best_level == "self" and .preemptible and .gpu.shim' \
	'.by_hand | .can == "no" and (.why | test("the only debug session"))'
kill $self $disabled

# ---- in a container ----
id=3f2a9c0d1e4b5a69788796a5b4c3d2e1f00112233445566778899aabbccddeef
unshare --pid --fork --kill-child --mount-proc "$BUILD/kfdreplay" \
	--trace "$SOURCE/traces/online_resnet50_b1.csv" --rate 0.1 --seconds 300 >/dev/null 2>&1 &
starter=$!
children+=("$starter")
child_in_state $starter '(kfdreplay) [RSD]'
inside=$child
echo "0::/docker/$id" >"$work/cgroup"
mount --bind "$work/cgroup" "/proc/$inside/cgroup"
becomes "$inside" '.gpu.queues != null and .gpu.queues != []'
export PATH=/usr/bin:/bin
for named in "$inside" "--container 3f2a9c0d 1" "--container ${id:0:40}"; do
	diagnose "$named" '.gpu.queues != []' ".process.container.id == \"$id\" and .process.container_pid == 1" \
		".pid == $inside and .process.pids == [$inside, 1] and .process.container.engine == \"docker\""
done
expect 0 "$kfdsched" diagnose --container 3f2a9c0d
printed "  pids        $inside here, 1 in its own namespace, $inside on the machine"
printed "  container   docker ${id:0:12}"
refused 1 "has no process 7" "$kfdsched" diagnose --container 3f2a9c0d 7
refused 1 "no process is in a container" "$kfdsched" diagnose --container 0123
expect 2 "$kfdsched" diagnose --container ""
umount "/proc/$inside/cgroup"
# unshare ignores other signals while it waits, and its child ends with it.
kill -KILL $starter
wait $starter 2>/dev/null || true
strace -o "$work/strace" -e trace=none -p $bare 2>/dev/null &
tracer=$!
children+=("$tracer")
becomes $bare '.process.tracer.comm == "strace"'
diagnose $bare ".process.tracer == {pid: $tracer, comm: \"strace\"}"
kill $tracer

# ---- with a daemon ----
export KFDSHIM_SOCKET=$work/run/socket
start_daemon
replay "$preload" KFDSHIM_PRIORITY=offline
offline=$replayed
# It gets to its level at its first queue; the queues for copies are its last ones.
becomes $offline '.level == "trap" and ([.gpu.queues[] | select(.source == "shm") | .count] | add) == 4'
diagnose $offline '.verdict | test("and can be preempted at level trap$")' \
	'.gpu.registered and .gpu.debug_enabled and .best_level == "trap"' \
	'.levels | map(.can) == ["now", "yes", "yes", "yes", "yes"]' \
	'any(.gpu.queues[]; .type == "aql" and (.source | IN("daemon", "shm")))'
expect 0 "$kfdsched" diagnose $offline
sed -E -e "s/\b$offline\b/PID/g" -e 's/bash \([0-9]+\)/bash (PARENT)/' -e "s|$BUILD|BUILD|g" -e "s|$SOURCE|SOURCE|g" \
	-e 's/(kfdschedd-exec) \([0-9]+\)/\1 (EXECUTOR)/' -e 's/ on GPU [0-9]+/ on GPU ID/' \
	-e 's/^(  (state|user|container) +).*/\1.../' -e 's/[0-9]+ times so far, .* in total/N times so far, T in total/' \
	"$work/out" >"$work/text"
diff -u "$SOURCE/tests/system/cli/diagnose.golden" "$work/text" >"$work/out" ||
	fail "the text is not the expected one"
"$kfdsched" suspend $offline --for 60 >/dev/null
becomes $offline '.gpu.held'
diagnose $offline '.verdict | test("with 4 queues \\(held now\\), and can be preempted at level trap$")'
"$kfdsched" resume $offline >/dev/null
becomes $offline '.gpu.held == false and .gpu.suspends > 0'
# Another debugger traces the process already.
strace -o "$work/strace" -e trace=none env "$preload" KFDSHIM_PRIORITY=1 "$BUILD/kfdreplay" \
	--trace "$SOURCE/traces/online_resnet50_b1.csv" --rate 0.1 --seconds 300 >/dev/null 2>&1 &
tracer=$!
children+=("$tracer")
child_in_state $tracer '(kfdreplay) [RSDt]'
traced=$child
becomes "$traced" '.level == "self"'
children+=("$traced")
diagnose "$traced" ".verdict | test(\"at level self; for level trap do: end it: 'kill $tracer'\$\")" \
	".process.tracer == {pid: $tracer, comm: \"strace\"}" '([.findings[].check] - ["worker"]) == ["tracer"]' \
	'.levels | map(.can) == ["no", "now", "yes", "yes", "yes"]'
# This user is not allowed to read the state of the process.
as=(setpriv --reuid 65534 --regid 65534 --clear-groups)
chmod 755 "$work"
diagnose $bare '.preemptible == null and .level == null and .gpu.device_open == null and .gpu.shim == null' \
	'.gpu.used and .gpu.listed' '.process.tracer == null' \
	'.findings[] | select(.check == "rights") | (.found | test("is not allowed to read its state")) and
		(.advice | test("^run this as root"))'
# What the daemon and the driver's list report is readable for every user.
diagnose $offline '.level == "trap" and .preemptible and .gpu.device_open == null'
schema diagnose "$work/all" --lines
