#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Proves: a simulation is the host plus a GPU: devices, sysfs, /run, shared memory and terminals are
# those of the host, and nothing of the GPU is visible outside.
set -eu
# shellcheck source=tests/lib/kfdsim.inc.sh
. "$SOURCE/tests/lib/kfdsim.inc.sh"

# missing DIRECTORY: prints what the host has there and the simulation has not.
missing() {
	expect 0 "$BUILD/kfdsim" -- ls -A "$1"
	comm -23 <(find "$1" -mindepth 1 -maxdepth 1 -printf '%f\n' | LC_ALL=C sort) \
		<(LC_ALL=C sort "$work/out")
}
for folder in /dev /sys /sys/class /sys/bus /sys/devices /sys/module /sys/dev/char \
	/sys/bus/pci/devices /sys/devices/system/cpu /run; do
	[ ! -d "$folder" ] || same "$folder: $(missing "$folder")" "$folder: "
done
same "$("$BUILD/kfdsim" -- cat /sys/devices/system/cpu/online)" "$(cat /sys/devices/system/cpu/online)"
same "$("$BUILD/kfdsim" -- head -c 4 /dev/zero | od -An -tx1)" " 00 00 00 00"

# A file in shared memory is visible in both directions.
shared=/dev/shm/kfdsim-test.$$
echo outside >"$shared"
same "$("$BUILD/kfdsim" -- sh -c "cat '$shared'; echo inside >'$shared'")" outside
same "$(cat "$shared")" inside
rm "$shared"

# A pseudo-terminal can be opened, also by its name.
expect 0 "$BUILD/kfdsim" -- python3 -c '
import os
main, terminal = os.openpty()
again = os.open(os.ttyname(terminal), os.O_RDWR | os.O_NOCTTY)
os.write(again, b"hello")
assert os.read(main, 5) == b"hello"'

# The directory of the scheduler is the simulation's own.
same "$("$BUILD/kfdsim" -- sh -c 'stat -c %a /run/kfdsched; ls -A /run/kfdsched; : >/run/kfdsched/x')" 755
same "$("$BUILD/kfdsim" -- ls -A /run/kfdsched)" ""

# The processes are the simulation's own.
same "$("$BUILD/kfdsim" -- sh -c 'echo $$; cat /proc/1/comm')" "2
kfdsim-init"
