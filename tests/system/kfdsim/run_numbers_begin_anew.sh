#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A child whose number is below its parent's, because the numbers of processes have begun anew
# between the two, is not taken for the older one: what the parent opened stays the parent's.
set -eu
# shellcheck source=tests/lib/harness.inc.sh
. "$SOURCE/tests/lib/harness.inc.sh"

[ -n "${NUMBERED:-}" ] ||
	NUMBERED=1 again unshare --user --map-root-user --pid --fork --mount-proc bash "$0"

# Outside of the world, whose processes have numbers in this namespace, too.
mkfifo "$work/last" "$work/set"
number() {
	while read -r last; do
		echo "$last" >/proc/sys/kernel/ns_last_pid
		echo set
	done <"$work/last" >"$work/set"
}
number &

cat >"$work/program.py" <<-'EOF'
	import fcntl, os, sys, time

	last, answers = open(sys.argv[1] + "/last", "w", 1), open(sys.argv[1] + "/set")
	GET_VERSION = 0x80084b01

	def number(n):
	    print(n, file=last)
	    answers.readline()

	def use(kfd):
	    fcntl.ioctl(kfd, GET_VERSION, bytes(8))

	def child(ready):
	    use(os.open("/dev/kfd", os.O_RDWR))
	    os.write(ready, b"!")
	    time.sleep(100)

	def parent():
	    kfd = os.open("/dev/kfd", os.O_RDWR)
	    ends = os.pipe()
	    number(int(sys.argv[2]) - 1)
	    pid = os.fork()
	    if not pid:
	        child(ends[1])
	    os.read(ends[0], 1)
	    try:
	        use(kfd)
	    finally:
	        os.kill(pid, 9)

	for _ in range(5):  # the two start within one tick of the kernel's clock, or this shows nothing
	    number(int(sys.argv[2]) - 20)
	    pid = os.fork()
	    if not pid:
	        parent()
	        os._exit(0)
	    if os.waitpid(pid, 0)[1]:
	        sys.exit("the parent cannot use its device")
EOF
expect 0 "$BUILD/kfdsim" -- python3 -IS "$work/program.py" "$work" "$(cat /proc/sys/kernel/pid_max)"
