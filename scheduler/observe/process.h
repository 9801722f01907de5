/* SPDX-License-Identifier: MIT */
/*
 * Who a process is: its numbers in every pid namespace, its container, its command. From
 * /proc alone.
 *
 * Numbers are those of /proc, which is to be of our own pid namespace. Threads: any.
 * Errors: negative errno. What cannot be read stays empty, 0 or unknown.
 */
#ifndef KFDSHIM_OBSERVE_PROCESS_H
#define KFDSHIM_OBSERVE_PROCESS_H

#include <jansson.h>
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

/* How it was found out. */
enum container_clue {
	CONTAINER_CLUE_NONE,
	CONTAINER_CLUE_CGROUP,	   /* the path of its cgroup */
	CONTAINER_CLUE_FILE,	   /* /run/.containerenv, which podman writes */
	CONTAINER_CLUE_MOUNTS,	   /* what is mounted over its /etc */
	CONTAINER_CLUE_NAMESPACES, /* only that it has others than the machine's first */
	CONTAINER_CLUES
};
const char *container_clue_name(enum container_clue clue); /* "cgroup", ...; "-" */

struct container {
	enum container_engine engine;
	enum container_clue clue;
	char id[CONTAINER_ID_MAX];     /* as the engine has it; empty: not known */
	char name[CONTAINER_NAME_MAX]; /* empty: not asked, or not known */
	char pod_uid[64];	       /* Kubernetes; empty: no pod */
};

struct process_identity {
	pid_t pid;	  /* in our pid namespace */
	uint64_t started; /* common/proc_stat.h: with the pid it names one process */
	char state;	  /* as there: 'S', 'T', 'Z', ... */
	bool kernel;	  /* a thread of the kernel */
	uid_t uid;	  /* the effective one; -1: not known */
	pid_t tracer;	  /* 0: none (or one of another namespace, which is not told) */
	/* From our namespace to its own, innermost last; [0] is pid. */
	pid_t pids[PROCESS_NAMESPACES];
	unsigned depth;
	pid_t host_pid; /* in the machine's first pid namespace; 0: not known from here */
	char comm[16];	/* as `command`; of a process that has no arguments that is all */
	char command[PROCESS_COMMAND]; /* arguments, with blanks between; cut; control
					  characters are '?' */
	struct container container;
};

/*
 * -ESRCH: there is no process of that number (a zombie is one). -EINVAL: it is a thread.
 * -EACCES: there is one, and /proc hides it from us (its option hidepid).
 * Its container without a name. Reads a dozen files: who looks often keeps the answer, and
 * asks process_is().
 */
int process_read(pid_t pid, struct process_identity *out);
/* What process_read failed with, as a sentence without a full stop: "there is no process
 * 7: ...", "7 is a thread of process 5: ...", ... Returns `text`. */
#define PROCESS_SENTENCE 128
const char *process_sentence(char text[static PROCESS_SENTENCE], pid_t pid, int error);
/* What /proc/PID/stat's letter means: "sleeping", "zombie", ... */
const char *process_state_name(char state);
/* /proc/PID/comm, plain; empty: it cannot be read. */
void process_name(pid_t pid, char out[static 16]);
/* It is a process of kfdsched or kfdschedd, by its exact name (common/own_names.h) and, where
 * /proc shows that, by its program. These may have the device open, and have no work on it. */
bool process_is_ours(pid_t pid);
/* Its number in its own pid namespace, which is its container's; 0: it is in none. */
pid_t process_pid_inside(const struct process_identity *identity);
/* Every field, null where it is not known (docs/formats.md). NULL: no memory. */
json_t *process_json(const struct process_identity *identity);

enum process_gpu { PROCESS_GPU_UNKNOWN, PROCESS_GPU_NO, PROCESS_GPU_YES };
/*
 * It uses an AMD GPU: in the driver's list where its numbers are ours; elsewhere it has
 * mapped /dev/kfd, which can be seen of one's own processes only.
 */
enum process_gpu process_gpu(pid_t pid);
/* All processes of /proc, ascending. Their number, or a negative errno; the caller frees. */
ssize_t process_list(pid_t **out);

/* It is still the same one. */
bool process_is(const struct process_identity *identity);

#endif
