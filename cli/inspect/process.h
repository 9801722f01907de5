/* SPDX-License-Identifier: MIT */
/*
 * Identity of a process: its pids in every pid namespace, its container, its command. Read from
 * /proc only, except the names of containers.
 *
 * pids are those of /proc, which must belong to the caller's pid namespace. Threads: any. Errors:
 * negative errno. A value that cannot be read stays empty, 0 or unknown.
 */
#ifndef KFDSHIM_CLI_INSPECT_PROCESS_H
#define KFDSHIM_CLI_INSPECT_PROCESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/proc.h"

#define PROCESS_NAMESPACES PROC_NS_LEVELS_MAX /* nested pid namespaces that are recorded */
#define PROCESS_COMMAND 256u
#define CONTAINER_ID_MAX 65u
#define CONTAINER_NAME_MAX 128u

/* The container engine that created the cgroup or the namespaces of the process. */
enum container_engine {
	CONTAINER_NONE,	   /* no container */
	CONTAINER_UNKNOWN, /* a container, but nothing shows of which engine */
	CONTAINER_DOCKER,
	CONTAINER_PODMAN,
	CONTAINER_CONTAINERD,
	CONTAINER_CRIO,
	CONTAINER_ENGINES
};
const char *container_engine_name(enum container_engine engine); /* "docker", ...; "-" */

/* Evidence by which the container was detected. */
enum container_clue {
	CONTAINER_CLUE_NONE,
	CONTAINER_CLUE_CGROUP,	   /* path of the cgroup */
	CONTAINER_CLUE_FILE,	   /* /run/.containerenv, which podman writes */
	CONTAINER_CLUE_MOUNTS,	   /* mounts over the container's /etc */
	CONTAINER_CLUE_NAMESPACES, /* only namespaces that differ from the initial ones */
	CONTAINER_CLUES
};
const char *container_clue_name(enum container_clue clue); /* "cgroup", ...; "-" */

struct container {
	enum container_engine engine;
	enum container_clue clue;
	char id[CONTAINER_ID_MAX]; /* the engine's id, 64 hexadecimal digits; empty: not known */
	char name[CONTAINER_NAME_MAX]; /* empty: not requested yet, or not known */
	char pod_uid[64];	       /* uid of the Kubernetes pod; empty: no pod */
};

struct process_identity {
	pid_t pid;	  /* in the caller's pid namespace */
	uint64_t started; /* ticks since boot (common/proc.h); unique together with pid */
	char state;	  /* letter in /proc/PID/stat: 'S', 'T', 'Z', ... */
	bool kernel;	  /* a kernel thread */
	uid_t uid;	  /* effective uid; -1: not known */
	pid_t tracer;	  /* 0: none, or one of another pid namespace, which /proc hides */
	/* pids[0..depth-1]: from the caller's pid namespace to the process's own, innermost last;
	 * pids[0] is pid. */
	pid_t pids[PROCESS_NAMESPACES];
	unsigned depth;
	pid_t host_pid; /* in the initial pid namespace; 0: not known from here */
	char comm[16]; /* /proc/PID/comm, in plain ASCII; the only name if there are no arguments */
	/* Arguments separated by blanks, cut to size. Everything but printable ASCII is '?'. */
	char command[PROCESS_COMMAND];
	struct container container;
};

/*
 * Reads the identity of a process; the name of its container is left empty. Reads about a dozen
 * files, so a caller that needs the identity often should keep it and check it by process_is().
 *
 * Returns 0 (also for a zombie), or a negative errno:
 * -ESRCH   there is no process with that pid
 * -EINVAL  the number is that of a thread
 * -EACCES  the process exists, but /proc hides it from the caller (mount option hidepid)
 */
int process_identify(pid_t pid, struct process_identity *out);
/* Formats an error of process_identify() as a sentence without a full stop: "there is no process
 * 7: ...", "7 is a thread of process 5: ...", ... Returns `text`. */
#define PROCESS_ERRMSG 128
const char *process_errmsg(char text[static PROCESS_ERRMSG], pid_t pid, int error);
/* Returns the meaning of the state letter of /proc/PID/stat: "sleeping", "zombie", ...; "-":
 * none. */
const char *process_state_name(char state);
/* Returns the pid in the process's own pid namespace, which is that of its container; 0 if the
 * process is in no container. */
pid_t process_pid_inside(const struct process_identity *identity);

/*
 * Translates a pid of the caller's pid namespace into the driver's numbering (the host's pid).
 * Returns 0 if it cannot be known from here: /sys/class/kfd/kfd/proc uses the initial pid
 * namespace, and the caller is in another one. A daemon in the initial namespace may know the pid.
 */
pid_t observe_host_pid(pid_t pid);
/* Returns true if the caller is in the pid namespace whose pids the driver uses. */
bool observe_names_match(void);
/* Returns true if the pid still belongs to the same process. */
bool process_is(const struct process_identity *identity);

/* ---- container.c ---- */

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
 * mounts and files that engines create in a container; else by its namespaces. All data comes from
 * the kernel: a process can give a wrong impression of itself only as far as it can choose its own
 * cgroup or mounts.
 *
 * depth: number of nested pid namespaces from the caller's to the process's (1: the same). *out has
 * CONTAINER_NONE if there is no container; a name only if podman's file has it.
 */
void container_read(pid_t pid, unsigned depth, struct container *out);

/* ---- names of containers ---- */

/* Only container engines know the names of containers, so docker, podman or crictl is run, if it is
 * in PATH: without a shell, and for at most two seconds. Their output is not trusted: it is used
 * only if it has the form of a name. Threads: one at a time. */

/* Cache of the results by container id, so that the engine is run once for each id. */
struct container_names;

struct container_names *container_names_new(void);
void container_names_free(struct container_names *names); /* NULL is allowed */

/*
 * Fills container->name from the cache or from the engine, unless the name is known already.
 *
 * After a tool was found missing or has timed out, it is not run again for other ids.
 * Returns 0, or a negative errno:
 * -EINVAL  the container has no id, or no engine that could be queried
 * -ENOENT  the engine's command is not in PATH
 * others   the command failed, took too long, or gave no valid name
 */
int container_names_query(struct container_names *names, struct container *container);

/* Removes failed results from the cache, so that the engines are queried again. Results of a
 * command that is not in PATH are kept. */
void container_names_retry(struct container_names *names);

/* Returns true if `text` names this container: it is the first digits of its id (at least
 * CONTAINER_PREFIX_MIN), the uid of its pod, or its name. To compare the name, the engine may be
 * queried. */
#define CONTAINER_PREFIX_MIN 4u
bool container_names_fit(struct container_names *names, struct container *container,
			 const char *text);
/* Returns the reasons for which names could not be read so far, as a sentence without a full stop;
 * empty if there is none. The text belongs to `names` and is valid until the next call. */
const char *container_names_problem(struct container_names *names);

#endif
