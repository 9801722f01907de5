#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Proves: if the agent is missing or cannot be loaded, a workload on a (simulated) GPU works, and with
# KFDSHIM_LOG=error one line says why it is not scheduled and what to do. With KFDSHIM_DISABLE=1 the
# library prints nothing, and with another value that the value is ignored.
set -eu
# shellcheck source=tests/lib/harness.inc.sh
. "$SOURCE/tests/lib/harness.inc.sh"
cp "$BUILD/libkfdshim.so" "$work"

# workload LIBRARY VARIABLE...: runs the workload with this library; the output is in $work/{out,err}.
workload() {
	local lib=$1
	shift
	printf 'queue\nblock\nthreads\nfinish\ndestroy\nquit\n' |
		"$BUILD/kfdsim" -- env LD_PRELOAD="$lib" "$@" "$WORKLOAD" >"$work/out" 2>"$work/err"
	# A runtime with its checks enabled reports its own leaked signals.
	sed -i '/SharedSignalPool/d' "$work/err"
}

# says N [AGENT]: stderr has N lines, and the workload has done its work, without the thread of the
# agent, or (AGENT 1) with it.
says() {
	[ "$(wc -l <"$work/err")" = "$1" ] || fail "expected $1 lines on stderr"
	[ "$(grep -c '^ok$' "$work/out")" = 3 ] || fail "the workload has not done its work"
	same "$(grep -c kfdshim "$work/out")" "${2:-0}"
}

workload "$work/libkfdshim.so" KFDSHIM_LOG=error
says 1
one_line 'kfdshim: the work of this process is not scheduled.*libkfdshim-agent.so'
workload "$work/libkfdshim.so" KFDSHIM_LOG=off
says 0
workload "$work/libkfdshim.so" KFDSHIM_PRIORITY=online
says 0
workload "$BUILD/libkfdshim.so" KFDSHIM_DISABLE=1 KFDSHIM_LOG=debug
says 0
workload "$BUILD/libkfdshim.so" KFDSHIM_DISABLE=0 KFDSHIM_LOG=error
says 0 1
workload "$BUILD/libkfdshim.so" KFDSHIM_DISABLE=yes KFDSHIM_LOG=error
says 1 1
said "KFDSHIM_DISABLE=yes is ignored: only 1"

# The first call that needs the agent comes when no descriptor or no memory is left.
cat >"$work/limited.py" <<'EOF'
import errno, fcntl, os, resource, sys

kfd = os.open("/dev/kfd", os.O_RDWR)  # the lowest that was free
pages = int(open("/proc/self/statm").read().split()[0])
kind, limit = {
    "files": (resource.RLIMIT_NOFILE, kfd + 1),
    "memory": (resource.RLIMIT_AS, pages * resource.getpagesize() + 64 * 1024),
}[sys.argv[1]]
free_memory, nothing = 0x40084B17, bytes(8)
hard = resource.getrlimit(kind)[1]
resource.setrlimit(kind, (limit, hard))
try:
    said = fcntl.ioctl(kfd, free_memory, nothing)
except OSError as error:
    said = error.errno
resource.setrlimit(kind, (hard, hard))
print(errno.errorcode.get(said, said))
EOF
for kind in files memory; do
	"$BUILD/kfdsim" -- python3 "$work/limited.py" $kind >"$work/alone"
	"$BUILD/kfdsim" -- env LD_PRELOAD="$BUILD/libkfdshim.so" KFDSHIM_LOG=error \
		python3 "$work/limited.py" $kind >"$work/out" 2>"$work/err"
	cmp "$work/alone" "$work/out"
	one_line "the work of this process is not scheduled.*: raise the limit of .*$kind"
done
# A line that cannot be written, because it has no reader or no room, is dropped.
cat >"$work/unheard.py" <<'EOF'
import fcntl, os, signal, sys

kfd = os.open("/dev/kfd", os.O_RDWR)
reader, writer = os.pipe()
if sys.argv[1] == "gone":
    os.close(reader)
else:
    os.set_blocking(writer, False)
    try:
        while True:
            os.write(writer, bytes(4096))
    except BlockingIOError:
        os.set_blocking(writer, True)
os.dup2(writer, 2)
signal.signal(signal.SIGPIPE, signal.SIG_DFL)
signal.alarm(20)
get_version = 0x80084B01
print(fcntl.ioctl(kfd, get_version, bytes(8))[0])
EOF
for reader in gone slow; do
	got=$("$BUILD/kfdsim" -- env LD_PRELOAD="$work/libkfdshim.so" KFDSHIM_LOG=error \
		python3 "$work/unheard.py" $reader) || fail "a line, when its reader is $reader: $?"
	[ "$got" = 1 ] || fail "KFD's version is '$got'"
done
echo ok
