/* SPDX-License-Identifier: MIT */
/*
 * Detects the container of a process.
 *
 * All data comes from the kernel. A process can give a wrong impression of itself only as far as it
 * can choose its own cgroup or mounts. Threads: any.
 */
#ifndef KFDSHIM_CLI_INSPECT_CONTAINER_H
#define KFDSHIM_CLI_INSPECT_CONTAINER_H

#include "cli/inspect/process.h"

/*
 * Reads engine, id and pod from the text of /proc/PID/cgroup, in the layouts of docker, podman,
 * containerd, CRI-O and Kubernetes, with cgroups of version 1 and 2, with and without systemd. For
 * nested containers the innermost counts. If the path has an id but no name of an engine, the
 * engine is CONTAINER_UNKNOWN.
 * Returns false, with *out empty, if the text names no container. Pure.
 */
bool container_of_cgroup(const char *text, struct container *out);

/*
 * Reads engine, id and pod from the text of /proc/PID/mountinfo: engines mount files of their own
 * over /etc of a container. The containers of a pod share these files, so for a pod there is no id.
 * A container that uses the network of another one (docker run --network container:NAME) has the
 * files, and therefore the id, of that other container.
 * Modifies the text. Returns false, with *out empty, if the mounts show no container. Pure.
 */
bool container_of_mounts(char *text, struct container *out);
/*
 * Reads id and name from the text of /run/.containerenv, which podman writes. It has content only
 * in privileged containers; in others the file is empty. Modifies the text. Returns false, with
 * *out empty, if the text is not podman's. Pure.
 */
bool container_of_containerenv(char *text, struct container *out);

/*
 * Detects the container of a process: by its cgroup; if a cgroup namespace hides that, by the
 * mounts and files that engines create in a container; else by its namespaces.
 *
 * depth: number of nested pid namespaces from the caller's to the process's (1: the same). *out has
 * CONTAINER_NONE if there is no container; a name only if podman's file has it.
 */
void container_read(pid_t pid, unsigned depth, struct container *out);

#endif
