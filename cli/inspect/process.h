/* SPDX-License-Identifier: MIT */
/*
 * Reads the identity of a process: its pids in every pid namespace, its container, its command. It
 * comes from /proc, except the name of the container.
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
	CONTAINER_UNKNOWN, /* a container whose engine is not known */
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
	uint64_t started; /* start, ticks since boot (common/proc.h); unique together with pid */
	char state;	  /* letter in /proc/PID/stat: 'S', 'T', 'Z', ... */
	bool kernel;	  /* a kernel thread */
	uid_t uid;	  /* effective uid; -1: not known */
	pid_t tracer;	  /* 0: no tracer, or one of another pid namespace, which /proc hides */
	/* pids[0..depth-1]: from the caller's pid namespace to the process's own, innermost last;
	 * pids[0] is pid. */
	pid_t pids[PROCESS_NAMESPACES];
	unsigned depth;
	pid_t host_pid; /* pid in the initial pid namespace; 0: not known */
	/* /proc/PID/comm, in plain ASCII; the only name of a process without arguments. */
	char comm[16];
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
/* Returns the meaning of the state letter of /proc/PID/stat: "sleeping", "zombie", ...; "-" for an
 * unknown letter. */
const char *process_state_name(char state);
/* Returns the pid in the process's own pid namespace, which is that of its container; 0 if the
 * process is in no container. */
pid_t process_pid_inside(const struct process_identity *identity);

/*
 * Translates a pid of the caller's pid namespace into the driver's numbering (the host's pid). The
 * driver uses the initial pid namespace. Returns 0 if the caller is in another one, because the
 * host's pid is not known there. A daemon in the initial namespace may know it.
 */
pid_t observe_host_pid(pid_t pid);
/* Returns true if the caller is in the pid namespace whose pids the driver uses. */
bool observe_names_match(void);
/* Returns true if the pid still belongs to the process that was identified. */
bool process_is(const struct process_identity *identity);

/* ---- container.c ---- */

/*
 * Reads engine, id and pod from the text of /proc/PID/cgroup. Parses the layouts of docker, podman,
 * containerd, CRI-O and Kubernetes, with cgroups of version 1 and 2, with and without systemd. Of
 * nested containers it reports the innermost. If the path has an id but no name of an engine, the
 * engine is CONTAINER_UNKNOWN.
 * Returns false, with *out empty, if the text names no container. Pure.
 */
bool container_of_cgroup(const char *text, struct container *out);

/*
 * Reads engine, id and pod from the text of /proc/PID/mountinfo. The text shows these because
 * engines mount their own files over files in the container's /etc. The containers of a pod share
 * these files, so for a pod there is no id. A container that uses the network of another one
 * (docker run --network container:NAME) has the files, and therefore the id, of that other
 * container.
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
 * Detects the container of a process by its cgroup. If a cgroup namespace hides the cgroup, detects
 * it by the mounts and files that engines create in a container. If there are none, detects it by
 * the namespaces of the process. All data comes from the kernel: a process can pretend to be in
 * another container only if it can choose its own cgroup or mounts.
 *
 * depth: number of nested pid namespaces from the caller's to the process's (1: the same). The
 * engine of *out is CONTAINER_NONE if there is no container. The name is empty, unless podman's
 * file has it.
 */
void container_read(pid_t pid, unsigned depth, struct container *out);

/* ---- names of containers ---- */

/* Only container engines have the names of containers. So the command docker, podman or crictl is
 * run, without a shell and for at most two seconds. Its output is not trusted: it is used only if
 * it has the form of a name. Threads: one at a time. */

/* Cache of the results by container id, so that the engine is run once for each id. */
struct container_names;

struct container_names *container_names_new(void);
void container_names_free(struct container_names *names); /* NULL is allowed */

/*
 * Sets container->name from the cache or from the engine, unless the name is known already.
 *
 * An engine's command that is missing or has timed out is not run again for other ids.
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
/* Returns why names could not be read so far, as a sentence without a full stop, or an empty text
 * if all could be read. The text belongs to `names` and is valid until the next call. */
const char *container_names_problem(struct container_names *names);

#endif
