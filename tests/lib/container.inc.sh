# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# shellcheck disable=SC2154 # of the harness
# Containers without an engine, for tests that are in a world by now: each a GPU workload under an
# init of its own, in a pid, a mount and a cgroup namespace.
#
# Cgroups are real ones where the hierarchy can be written. Elsewhere a file with the same
# text stands over /proc/PID/cgroup, in the mount namespace of this test alone.

# Those of a test that was killed.
find /sys/fs/cgroup -depth -path '*/kfdshim-test-*' -type d -mmin +60 -exec rmdir {} + 2>/dev/null || true
cgroups=""
for hierarchy in /sys/fs/cgroup/unified /sys/fs/cgroup /sys/fs/cgroup/systemd; do
	if grep -qE "^[^ ]+ $hierarchy cgroup2? " /proc/mounts &&
		cgroups=$(mktemp -d "$hierarchy/kfdshim-test-XXXXXX" 2>/dev/null); then
		break
	fi
done
no_cgroups() {
	[ ! -d "$cgroups" ] || find "$cgroups" -depth -type d -exec rmdir {} + 2>/dev/null
}
# When those in them have ended.
remove_cgroups() {
	until_true 50 no_cgroups || true
}
at_end+=(remove_cgroups)

# run_container NAME CGROUP FILE POINT: a workload under an init of its own, in the cgroup,
# with FILE mounted over POINT: $init and $workload, as they are numbered here.
run_container() {
	[ -z "$cgroups" ] || mkdir -p "$cgroups$2"
	mkdir -p "${3%/*}"
	echo "$1" >"$3"
	# shellcheck disable=SC2016 # expanded in there
	unshare --pid --fork --kill-child bash -c '
		[ -z "$1" ] || echo 0 >"$1/cgroup.procs"
		shift
		exec unshare --mount --cgroup --mount-proc bash -c "
			mount --bind \"\$1\" \"\$2\"
			shift 2
			\"\$@\" & wait" init "$@"' \
		engine "${cgroups:+$cgroups$2}" "$3" "$4" \
		"$BUILD/kfdreplay" --trace "$SOURCE/traces/online_resnet50_b1.csv" --rate 5 --seconds 900 \
		>/dev/null 2>>"$work/log" &
	children+=("$!")
	starter=$!
	until_true 300 finds_workload || fail "$1: no workload"
	[ -n "$cgroups" ] && return
	for pid in "$init" "$workload"; do
		echo "0::$2" >"$work/cgroup.$pid"
		mount --bind "$work/cgroup.$pid" "/proc/$pid/cgroup"
	done
}
child_of() {
	grep -lsx "PPid:[[:space:]]*$1" /proc/[0-9]*/status | cut -d / -f 3 | head -n 1
}
finds_workload() {
	init=$(child_of "$starter") && [ -n "$init" ] && workload=$(child_of "$init") && [ -n "$workload" ] &&
		grep -qsx kfdreplay "/proc/$workload/comm" && [ -n "$(ls "/sys/class/kfd/kfd/proc/$workload/queues" 2>/dev/null)" ]
}
