#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Proves: a child whose pid is below its parent's, because pids have wrapped around between the two, is
# not taken for the older process: what the parent opened stays the parent's. A process with the pid of
# one that has just ended is not taken for that one.
set -eu
# shellcheck source=tests/lib/harness.inc.sh
. "$SOURCE/tests/lib/harness.inc.sh"

[ -n "${NUMBERED:-}" ] ||
	NUMBERED=1 again unshare --user --map-root-user --pid --fork --mount-proc bash "$0"

# This runs outside of the simulation, whose processes have pids in this namespace, too.
mkfifo "$work/last" "$work/set"
number() {
	while read -r last; do
		echo "$last" >/proc/sys/kernel/ns_last_pid
		echo set
	done <"$work/last" >"$work/set"
}
number &

cat >"$work/program.py" <<-'EOF'
	import fcntl, mmap, os, sys, time

	last, answers = open(sys.argv[1] + "/last", "w", 1), open(sys.argv[1] + "/set")
	most = int(sys.argv[2])
	GET_VERSION = 0x80084b01

	def number(n):
	    print(n, file=last)
	    answers.readline()

	def use(kfd):
	    fcntl.ioctl(kfd, GET_VERSION, bytes(8))

	def forked(work):
	    pid = os.fork()
	    if not pid:
	        work()
	        os._exit(0)
	    return pid

	def child(ready):
	    use(os.open("/dev/kfd", os.O_RDWR))
	    os.write(ready, b"!")
	    time.sleep(100)

	def parent(times):
	    kfd = os.open("/dev/kfd", os.O_RDWR)
	    ends = os.pipe()
	    number(most - 1)
	    for _ in range(times):
	        os.waitpid(forked(int), 0)
	    pid = forked(lambda: child(ends[1]))
	    os.read(ends[0], 1)
	    try:
	        use(kfd)
	    finally:
	        os.kill(pid, 9)

	# The two processes start within one tick of the kernel's clock, or this proves nothing. No pid is
	# used twice, because the supervisor may read the list of processes only once in a while.
	for i in range(5):
	    number(most - 20 - 20 * i)
	    if os.waitpid(forked(lambda: parent(i)), 0)[1]:
	        sys.exit("the parent cannot use its device")

	# A pid is used twice, and the supervisor has not read the list between the two processes, because it
	# waits for one that computes: what the second one waits for is not dropped with the first.
	def compute():
	    while not goes[0]:
	        time.sleep(0.001)
	    while goes[0]:
	        pass

	goes = mmap.mmap(-1, 4096)
	computes = forked(compute)
	number(999)
	first = forked(lambda: time.sleep(100))
	time.sleep(0.01)
	goes[0] = 1
	time.sleep(0.001)
	os.kill(first, 9)
	os.waitpid(first, 0)
	number(999)
	second = forked(lambda: time.sleep(0.1))
	time.sleep(0.05)
	goes[0] = 0
	os.waitpid(computes, 0)
	os.waitpid(second, 0)
EOF
expect 0 timeout 60 "$BUILD/kfdsim" -- python3 -IS "$work/program.py" "$work" "$(cat /proc/sys/kernel/pid_max)"
