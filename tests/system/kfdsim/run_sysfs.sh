#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Proves: sysfs and /proc of the simulation describe the GPU in the same way by every path.
set -eu
# shellcheck source=tests/lib/harness.inc.sh
. "$SOURCE/tests/lib/harness.inc.sh"

# shellcheck disable=SC2016
expect 0 "$BUILD/kfdsim" -- sh -ec '
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
printed_line 'aldebaran'
printed_line 'simd_count 416'
printed_line 'gfx_target_version 90010'
printed_line 'drm_render_minor 128'
printed_line 'cwsr_size 63508480'
printed_line 'ctl_stack_size 36864'
printed_line 'debug_prop 470'
printed_line 'max_bandwidth 32000'
printed_line 'DRIVER=amdgpu'
printed_line 'PCI_ID=1002:740F'
printed_line '226:128'
printed_line 'live'
same "$(grep -cx 0x740f "$work/out")" 3
# The driver can suspend here, so bits 15 and 29 are set.
capability=$(sed -n 's/^capability //p' "$work/out")
same "$((capability >> 15 & 1))$((capability >> 29 & 1))" 11
# cwsr_size, like every other number of the profile, can be changed by --set.
same "$("$BUILD/kfdsim" --set num_cp_queues=7 -- grep num_cp_queues \
	/sys/class/kfd/kfd/topology/nodes/1/properties)" 'num_cp_queues 7'

# The list of modules is read as libkmod does, with its flags, and twice from its start.
expect 0 "$BUILD/kfdsim" -- python3 -c '
import os
for _ in range(2):
    fd = os.open("/proc/modules", os.O_RDONLY)
    assert os.read(fd, 7) == b"amdgpu "'

# These are the values of the PCI device that monitors and lspci read; mem_info_vram_used: rule_vram.
# shellcheck disable=SC2016
expect 0 "$BUILD/kfdsim" -- sh -ec '
	cd /sys/class/drm/card0/device
	echo "numa $(cat numa_node) vram $(cat mem_info_vram_used)"
	echo "config$(od -An -tx2 -N4 config) $(wc -c <config)"'
printed_line 'numa 0 vram 0'
printed_line 'config 1002 740f 64'

# Linux 7.3 reports the reset of single queues (bit 31), for MI300 and later.
# announces 0|1 OPTION...: with these options, bit 31 is clear or set.
announces() {
	local want=$1
	shift
	capability=$("$BUILD/kfdsim" "$@" -- sed -n 's/^capability //p' /sys/class/kfd/kfd/topology/nodes/1/properties)
	same "$((capability >> 31 & 1))" "$want"
}
announces 1 --gpu mi300x --kernel 7.3
announces 0 --gpu mi300x --kernel 6.12.107
announces 0 --gpu mi210 --kernel 7.3
