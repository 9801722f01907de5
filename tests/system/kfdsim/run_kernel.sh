#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Proves: --kernel and --break change what they should, and choose a suitable machine.
set -eu
# shellcheck source=tests/lib/harness.inc.sh
. "$SOURCE/tests/lib/harness.inc.sh"

json=/sys/class/kfd/kfd/simulation.json
kernel() {
	"$BUILD/kfdsim" "$@" -- sh -c "cat /sys/module/amdgpu/version; jq -r '.kernel, .profile' $json" | tr '\n' ' '
}
same "$(kernel)" '6.12.95 6.12.95 mi210 '
same "$(kernel --kernel 6.12.107)" '6.12.107 6.12.107 mi210 '
same "$(kernel --kernel 7.3 --gpu mi308x)" '7.3 7.3 mi308x '
# For gfx942, 7.3 reports that a single queue can be reset (bit 31).
capability() {
	"$BUILD/kfdsim" "$@" -- sed -n 's/^capability //p' /sys/class/kfd/kfd/topology/nodes/1/properties
}
same "$(capability --gpu mi300x)" 746037888
same "$(capability --gpu mi300x --kernel 7.3)" 2893521536
same "$(capability --kernel 7.3)" 746037888

# One rule of each kind: --break chooses a machine that has the rule, and simulation.json lists the
# broken rule.
same "$("$BUILD/kfdsim" --break unknown_ioctl_is_enotty -- jq -r .broken $json)" unknown_ioctl_is_enotty
same "$("$BUILD/kfdsim" -- jq -r .broken $json)" null
expect 2 "$BUILD/kfdsim" --break nosuch -- true
one_line "no rule 'nosuch'"
expect 2 "$BUILD/kfdsim" --kernel 5.15 -- true
one_line "6.12.95, 6.12.107 or 7.3, not '5.15'"
for gpus in 0 9 x -1 '' 1x; do
	expect 2 "$BUILD/kfdsim" --gpus "$gpus" -- true
	one_line 'from 1 to 8'
done
