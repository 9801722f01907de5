/* SPDX-License-Identifier: MIT */
/*
 * In which container a process is, and which container somebody means.
 *
 * Threads: any. What is said of a process is what the kernel shows of it; a process can
 * mislead about itself only as far as it can choose its own cgroup or mounts.
 */
#ifndef KFDSHIM_OBSERVE_CONTAINER_H
#define KFDSHIM_OBSERVE_CONTAINER_H

#include "scheduler/observe/process.h"

/*
 * What the text of /proc/PID/cgroup tells: engine, id and pod, as docker, podman,
 * containerd, CRI-O and Kubernetes lay them out, with cgroups of version 1 and 2, by
 * systemd and without. Of nested containers the innermost counts. An id without a word
 * of whose it is has engine CONTAINER_UNKNOWN. false: nothing, and *out is empty. Pure.
 */
bool container_of_cgroup(const char *text, struct container *out);

/*
 * What the text of /proc/PID/mountinfo tells: engines mount files of their own over a
 * container's /etc. In a pod its containers share them: so the pod is told, and no id. One
 * that shares another one's network (docker run --network container:NAME) has the files,
 * and so the id, of that. Cuts the text. Pure.
 */
bool container_of_mounts(char *text, struct container *out);
/* What podman writes to /run/.containerenv of a privileged container, with its name; of
 * others it is empty. Cuts the text. Pure. */
bool container_of_containerenv(char *text, struct container *out);

/*
 * The same of a process, by its cgroup; then, where a cgroup namespace hides that, by what
 * engines leave in a container; then by its namespaces. `depth`: its nested pid namespaces
 * from ours on (1: it is in ours). Without a name.
 */
void container_read(pid_t pid, unsigned depth, struct container *out);

#endif
