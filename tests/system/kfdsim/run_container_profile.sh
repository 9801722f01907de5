#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Proves: packaging/seccomp-kfdsim.json has the format of container engines and refuses what it names,
# and a simulation starts and computes under exactly this filter: with the capabilities that docker
# gives to root in a container, and as a plain user. (The test uses no engine.)
set -eu
# shellcheck source=tests/lib/harness.inc.sh
. "$SOURCE/tests/lib/harness.inc.sh"

profile=$SOURCE/packaging/seccomp-kfdsim.json
jq -e '.defaultAction == "SCMP_ACT_ALLOW" and (.syscalls | length > 0) and
	all(.syscalls[]; .action == "SCMP_ACT_ERRNO" and .errnoRet > 0 and (.names | length > 0)) and
	([.syscalls[].names[]] | length == (unique | length))' "$profile" >/dev/null || fail "not a profile"
# The profile allows the calls of kfdsim that docker's default profile refuses.
jq -e '[.syscalls[].names[]] | any(. == ("unshare", "clone", "clone3", "mount", "umount2", "open_tree",
	"move_mount", "pivot_root", "pidfd_getfd", "kcmp", "mbind", "set_mempolicy", "get_mempolicy",
	"seccomp", "ptrace", "process_vm_readv", "process_vm_writev", "sched_setscheduler")) | not' \
	"$profile" >/dev/null || fail "it refuses what kfdsim needs"

# Each call has arguments that the kernel would refuse with another error.
expect 0 "$BUILD/run_profile" "$profile" --try keyctl bpf perf_event_open open_by_handle_at fsopen io_uring_setup
same "$(tr '\n' ' ' <"$work/out")" "keyctl 1 bpf 1 perf_event_open 1 open_by_handle_at 1 fsopen 38 io_uring_setup 38 "

# The build directory may be in a place that only root may enter.
cp "$BUILD/kfdsim" "$BUILD/run_profile" "$profile" "$work"
chmod 755 "$work"
cd "$work"
world=(./run_profile seccomp-kfdsim.json ./kfdsim --)
as_root=() as_user=()
if [ "$(id -u)" = 0 ]; then
	as_root=(setpriv --inh-caps=-all --bounding-set "-all,+chown,+dac_override,+fowner,+fsetid,+kill,+setgid,+setuid,+setpcap,+net_bind_service,+net_raw,+sys_chroot,+mknod,+audit_write,+setfcap")
	as_user=(setpriv --reuid 65534 --regid 65534 --clear-groups)
fi
# has_a_world PREFIX...: rocminfo shows a GPU in a simulation that is started by PREFIX.
has_a_world() {
	expect 0 "$@" "${world[@]}" rocminfo
	grep -q 'Name: *gfx90a' out || fail "$*: rocminfo shows no GPU: $(cat out)"
	expect 5 "$@" "${world[@]}" sh -c 'test -w /dev/kfd && exit 5'
}
has_a_world "${as_root[@]}"
has_a_world "${as_user[@]}"
# As root of a container, with a kernel that runs on the GPU.
expect 0 "${as_root[@]}" "$BUILD/run_profile" "$profile" "$BUILD/kfdsim" -- "$BUILD/kfdreplay" \
	--trace "$SOURCE/traces/online_resnet50_b1.csv" --requests 2 --rate 5
