#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Proves: on a host with a GPU, a driver and a scheduler of its own, a simulation has only the
# simulated ones. File systems in a namespace play that host.
set -eu
# shellcheck source=tests/lib/harness.inc.sh
. "$SOURCE/tests/lib/harness.inc.sh"

cat >"$work/host" <<'SCRIPT'
set -eu
mount -t tmpfs host /sys
mount -t tmpfs host /run
mkdir -p /sys/devices/virtual/kfd/kfd/topology/nodes/9 /sys/class/kfd /sys/class/drm/card9 \
	/sys/class/net /sys/module/amdgpu/parameters /sys/bus/pci/devices/0000:03:00.0 \
	/run/kfdsched /run/other
ln -s ../../devices/virtual/kfd/kfd /sys/class/kfd/kfd
touch /run/kfdsched/socket
[ -e /sys/class/kfd/kfd/topology/nodes/9 ]
exec "$@"
SCRIPT
user=()
[ "$(id -u)" = 0 ] || user=(--map-root-user)
host=(unshare "${user[@]}" --mount sh "$work/host")

# world PATH: prints what the simulation has there.
world() {
	"${host[@]}" "$BUILD/kfdsim" -- ls -A "$1" | paste -sd ' '
}
same "$(world /sys/class/kfd/kfd/topology/nodes)" '0 1'
same "$(world /sys/class/drm)" 'card0 renderD128'
same "$(world /sys/module/amdgpu)" 'holders initstate parameters refcnt version'
same "$(world /run/kfdsched)" ''
# The rest is the host's; its devices keep their numbers, and the simulated device gets others.
same "$(world /run)" 'kfdsched other'
same "$(world /sys/class)" 'drm kfd net'
same "$(world /sys/bus/pci/devices)" '0000:03:00.0 0000:04:00.0'
