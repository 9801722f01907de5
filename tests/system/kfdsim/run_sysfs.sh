#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# What the world's sysfs and /proc say about the GPU, by every way to it.
set -eu
# shellcheck source=tests/lib/run.inc.sh
. "$SOURCE/tests/lib/run.inc.sh"

# shellcheck disable=SC2016
expect 0 "$KFDSIM" -- sh -ec '
	cd /sys/class/kfd/kfd/topology/nodes
	cat 1/gpu_id 1/name 1/properties
	echo links
	cat 0/io_links/0/properties 1/io_links/0/properties
	echo pci
	location=$(sed -n "s/^location_id //p" 1/properties)
	cd "/sys/bus/pci/devices/$(printf "0000:%02x:00.0" $((location >> 8)))"
	cat vendor device uevent drm/renderD128/dev
	cd /sys/dev/char/226:128/device
	cat device
	cd /sys/class/drm/renderD128/device
	cat device
	cat /sys/module/amdgpu/initstate'
has() {
	grep -qx -- "$1" "$DIR/out" || fail "no '$1' in: $(cat "$DIR/out")"
}
has 'aldebaran'
has 'simd_count 416'
has 'gfx_target_version 90010'
has 'drm_render_minor 128'
has 'cwsr_size 63508480'
has 'ctl_stack_size 36864'
has 'debug_prop 470'
has 'max_bandwidth 32000'
has 'DRIVER=amdgpu'
has 'PCI_ID=1002:740F'
has '226:128'
has 'live'
same "$(grep -cx 0x740f "$DIR/out")" 3
# The driver can suspend here: bits 15 and 29.
capability=$(sed -n 's/^capability //p' "$DIR/out")
same "$((capability >> 15 & 1))$((capability >> 29 & 1))" 11
# cwsr_size, as every other number of the profile, follows --set.
same "$("$KFDSIM" --set num_cp_queues=7 -- grep num_cp_queues \
	/sys/class/kfd/kfd/topology/nodes/1/properties)" 'num_cp_queues 7'

# libkmod's way, with its flags, to the list of modules; twice from its start.
expect 0 "$KFDSIM" -- python3 -c '
import os
for _ in range(2):
    fd = os.open("/proc/modules", os.O_RDONLY)
    assert os.read(fd, 7) == b"amdgpu "'
