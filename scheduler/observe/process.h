/* SPDX-License-Identifier: MIT */
/*
 * Who a process is: its numbers in every pid namespace, its container, its command. From
 * /proc alone; a container engine is asked for a name only by container_ask_name().
 *
 * Threads: any. Errors: negative errno. What cannot be read stays empty, 0 or unknown.
 */
#ifndef KFDSHIM_OBSERVE_PROCESS_H
#define KFDSHIM_OBSERVE_PROCESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define PROCESS_NAMESPACES 8u /* nested pid namespaces that are told */
#define PROCESS_COMMAND 256u
#define CONTAINER_ID_MAX 65u
#define CONTAINER_NAME_MAX 128u

/* What made the cgroup or the namespaces that the process is in. */
enum container_engine {
	CONTAINER_NONE,	   /* no container */
	CONTAINER_UNKNOWN, /* other namespaces than ours, and no cgroup that says whose */
	CONTAINER_DOCKER,
	CONTAINER_PODMAN,
	CONTAINER_CONTAINERD,
	CONTAINER_CRIO,
	CONTAINER_ENGINES
};
const char *container_engine_name(enum container_engine engine); /* "docker", ...; "-" */

struct container {
	enum container_engine engine;
	char id[CONTAINER_ID_MAX];     /* as the engine has it; empty: not known */
	char name[CONTAINER_NAME_MAX]; /* empty: not asked, or not known */
	char pod_uid[64];	       /* Kubernetes; empty: no pod */
};

struct process_identity {
	pid_t pid;	  /* in our pid namespace */
	uint64_t started; /* common/proc_stat.h: with the pid it names one process */
	char state;	  /* as there: 'S', 'T', 'Z', ... */
	bool kernel;	  /* a thread of the kernel */
	uid_t uid;
	pid_t tracer; /* 0: none (or one of another namespace, which is not told) */
	/* From our namespace to its own, innermost last; [0] is pid. */
	pid_t pids[PROCESS_NAMESPACES];
	unsigned depth;
	pid_t host_pid; /* in the machine's first pid namespace; 0: not known from here */
	char comm[16];
	char command[PROCESS_COMMAND]; /* arguments, with blanks between; cut; control
					  characters are '?' */
	struct container container;
};

/* -ESRCH: there is no process of that number (a zombie is one). -EINVAL: it is a thread. */
int process_read(pid_t pid, struct process_identity *out);
/* It is still the same one. */
bool process_is(const struct process_identity *identity);

#endif
