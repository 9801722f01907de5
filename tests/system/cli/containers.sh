#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Proves, with containers that the test makes as docker and Kubernetes lay them out (namespaces and
# cgroups, without an engine), each with a GPU workload: from outside, pids, container, pod and
# queues of a process are right, by whichever pid it is named; from within, kfdsched prints what can
# be known there.
set -eu
# shellcheck source=tests/lib/daemon.inc.sh
. "$SOURCE/tests/lib/daemon.inc.sh"
as_root "$@"
in_a_world
# shellcheck source=tests/lib/container.inc.sh
. "$SOURCE/tests/lib/container.inc.sh"

search=/usr/bin:/bin # its PATH
docker_id=3f2a9c0d1e4b5a69788796a5b4c3d2e1f00112233445566778899aabbccddeef
pod_id=00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff
sandbox_id=ffeeddccbbaa99887766554433221100ffeeddccbbaa99887766554433221100
pod_uid=6f1c9c8e-8c2e-4b5a-9d0c-0123456789ab

# pidmap ARGUMENT...: the output goes to $work/map.json and to the file that is checked at the end.
pidmap() {
	PATH=$search "$kfdsched" pidmap --json "$@" >"$work/map.json" 2>"$work/said" || fail "pidmap $*: $(cat "$work/said")"
	keep
}
keep() {
	jq -c . "$work/map.json" >>"$work/maps"
}
# is JQ-CONDITION...
is() {
	holds "$work/map.json" "$1"
}

run_container docker "/docker/$docker_id" "$work/containers/$docker_id/hostname" /etc/hostname
docker_init=$init docker=$workload
run_container kubernetes \
	"/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod${pod_uid//-/_}.slice/cri-containerd-$pod_id.scope" \
	"$work/sandboxes/$sandbox_id/hosts" /etc/hosts
pod=$workload pod_init=$init

# ---- from outside ----

inner=$(awk '/^NSpid:/ {print $3}' "/proc/$docker/status")
inner_pod=$(awk '/^NSpid:/ {print $3}' "/proc/$pod/status")
pidmap
is "[.processes[].pid] == [$docker, $pod]"
is ".processes[0] | .host_pid == $docker and .container_pid == $inner and .pids == [$docker, $inner]
	and .uses_gpu and .comm == \"kfdreplay\""
is ".processes[0].container | .engine == \"docker\" and .id == \"$docker_id\" and .pod_uid == null
	and .detected_by == \"cgroup\""
is ".processes[1].container | .engine == \"containerd\" and .id == \"$pod_id\" and .pod_uid == \"$pod_uid\""
is ".processes[1].container_pid == $inner_pod"
# queues_between: the driver listed the same queues, $ids, before and after. A workload that has
# just begun makes more.
ids_of() {
	find "/sys/class/kfd/kfd/proc/$1/queues" -mindepth 1 -maxdepth 1 -printf '%f\n' | sort -n | jq -cs .
}
queues_between() {
	ids=$(ids_of "$1")
	"$kfdsched" queues "$1" --json >"$work/queues.json"
	[ "$(ids_of "$1")" = "$ids" ]
}
for one in "$docker $inner" "$pod $inner_pod"; do
	read -r pid number <<<"$one"
	until_true 100 queues_between "$pid" || fail "process $pid makes queues without end"
	jq -e "[.queues[].id] == $ids and (.queues | length) > 0 and
		all(.queues[]; .host_pid == $pid and .container_pid == $number)" \
		"$work/queues.json" >/dev/null || fail "queues of $pid: $(cat "$work/queues.json")"
done

# A container, by its id and by its pod: all of its processes, or the one with a pid.
pidmap --container "${docker_id:0:6}"
is "[.processes[] | [.pid, .uses_gpu]] == [[$docker_init, false], [$docker, true]]"
pidmap --container "$pod_uid" "$inner_pod"
is "[.processes[].pid] == [$pod]"
pidmap --container "${docker_id:0:6}" 1
is "[.processes[].pid] == [$docker_init]"

# A container has a name if docker can be asked, but not if docker hangs, fails or prints no name.
mkdir "$work/bin"
# asked SCRIPT: makes a command docker of it, in PATH.
asked() {
	printf '#!/bin/sh\n%s\n' "$1" >"$work/bin/docker"
	chmod 755 "$work/bin/docker"
	search=$work/bin:$PATH
}
without_name() {
	PATH=$search expect 1 "$kfdsched" pidmap --container train
	said "$1"
	[ ! -s "$work/out" ] || fail "pidmap prints something"
}
# shellcheck disable=SC2016 # expanded in there
asked 'for last; do :; done; [ "$last" = '"$docker_id"' ] && [ "$1" = inspect ] && echo /train'
pidmap --container train "$inner"
is ".processes | length == 1 and .[0].pid == $docker and .[0].container.name == \"train\""
pidmap "$docker"
is '.processes[0].container.name == "train"'
asked 'exit 3'
without_name "docker returned no name"
asked 'printf "/train\033[2J\n"'
without_name "docker returned no name"
asked 'yes | head -c 100000'
without_name "docker returned no name"
asked 'exec sleep 60'
without_name "docker did not reply within 2 seconds"
search=$work
without_name "docker is not in PATH"

# ---- from within ----

# within INIT COMMAND...
within() {
	local init=$1
	shift
	nsenter --target "$init" --pid --mount --cgroup "$@"
}
within "$docker_init" "$kfdsched" pidmap --json >"$work/map.json"
keep
is "[.processes[].pid] == [$inner]"
is ".processes[0] | .host_pid == null and .container_pid == $inner and .uses_gpu"
is ".processes[0].container | .engine == \"docker\" and .id == \"$docker_id\" and .detected_by == \"mounts\""
within "$docker_init" "$kfdsched" pidmap "$inner" >"$work/table"
grep -qE "^ +- +$inner +$inner +docker ${docker_id:0:12} +- +- +yes " "$work/table" ||
	fail "not '-' for the host's number: $(cat "$work/table")"
# The containers of the pod share these mounts, so the id is not the container's.
within "$pod_init" "$kfdsched" pidmap --json >"$work/map.json"
keep
is "[.processes[].pid] == [$inner_pod]"
is ".processes[0].container | .engine == \"containerd\" and .id == null"
# The driver's list has other pids, and no process is taken for another.
expect 77 within "$docker_init" "$kfdsched" queues "$inner"
[ ! -s "$work/out" ] || fail "queues from within"

# ---- no container ----

unshare --pid --fork --kill-child sleep 60 &
children+=("$!")
starter=$!
has_begun() {
	init=$(child_of "$starter") && [ -n "$init" ]
}
until_true 50 has_begun || fail "no sleep"
pidmap "$init"
is '.processes[0].container == {"engine": null, "id": null, "name": null, "pod_uid": null, "detected_by": "namespaces"}'
pidmap $$
is ".processes[0] | .container == null and .container_pid == null and .pids == [$$]"

# ---- no process ----

sleep 0 &
gone=$!
wait "$gone"
refused 1 "there is no process $gone" "$kfdsched" pidmap "$gone"
for task in /proc/"$docker"/task/*; do
	[ "${task##*/}" = "$docker" ] || refused 1 "a thread of process $docker" "$kfdsched" pidmap "${task##*/}"
done

schema pidmap "$work/maps" --lines
