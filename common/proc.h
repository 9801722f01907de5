/* SPDX-License-Identifier: MIT */
/*
 * Files in /proc/PID of a process or a thread, with the terms of proc(5). proc_file.h reads files
 * that the process itself has chosen.
 *
 * Threads: any. Takes no lock and does not keep errno; only proc_maps_find() allocates.
 */
#ifndef KFDSHIM_COMMON_PROC_H
#define KFDSHIM_COMMON_PROC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Reads a file in /proc/PID, or /proc/self if `pid` is 0, NUL-terminated, as far as it fits. Returns the number of bytes or a
 * negative errno; the text is empty then. */
ssize_t proc_read(pid_t pid, const char *name, char *text, size_t size);
/* Copies the name of a process or thread, in plain ASCII; empty: it is gone. */
void proc_comm(pid_t pid, char out[static 16]);

/* ---- stat ---- */

struct proc_stat {
	char state; /* 'S' sleeping, 'T' stopped, 't' by a tracer, 'Z' zombie ... */
	pid_t parent;
	bool kernel_thread;   /* PF_KTHREAD is set in its flags */
	bool ending;	      /* PF_EXITING is set: it exits, but may not be a zombie yet */
	uint64_t cpu_ticks;   /* time in user and kernel mode, in ticks */
	uint64_t child_ticks; /* such time of the children that it has waited for, in ticks */
	uint64_t started;     /* ticks since boot; identifies a process together with its PID */
	uint64_t stack;	      /* address of the begin of its stack, which is another after an
				 exec; 0: not readable */
};

/* Reads the stat of a process or thread. A tick is 1 s / sysconf(_SC_CLK_TCK). Returns false if
 * this PID namespace has none with that number; all of *out is 0 then. */
bool proc_stat(pid_t pid, struct proc_stat *out);

/* ---- status ---- */

#define PROC_STATUS_BYTES 4096 /* size of a buffer for the text */

/* Reads the text, NUL-terminated, without the line "Groups:", which the process can make as long as
 * it likes; the rest fits. Returns 0 or a negative errno. */
int proc_status_read(pid_t pid, char *text, size_t size);
/* Reads the text from the open file of a process's status, as proc_status_read(). */
int proc_status_read_from(int fd, char *text, size_t size);
/* Returns what follows @key (as "\nTgid:") in such a text; NULL: there is no such line. */
const char *proc_status_field(const char *text, const char *key);
/* Returns the first number behind @key in the status of a process or thread; 0: it cannot be
 * read. */
pid_t proc_status_number(pid_t pid, const char *key);

#define PROC_NS_LEVELS_MAX 33 /* the kernel allows 32 nested PID namespaces */

/* Writes the numbers that a process or thread has in each PID namespace, from this process's one to
 * its own. Returns how many; 0: the kernel does not report them. */
unsigned proc_status_ns_pids(const char *text, pid_t out[static PROC_NS_LEVELS_MAX]);

/* ---- ns ---- */

/* Number of the initial PID namespace (PROC_PID_INIT_INO). */
#define PROC_FIRST_PID_NAMESPACE 4026531836u

/* Returns the number of a process's namespace of a kind ("pid", "user", ...); pid 0: of this
 * process. Returns 0 with errno set if the process is gone, or must not be read. */
uint64_t proc_namespace(pid_t pid, const char *kind);

/* ---- cgroup: the text of the file ---- */

#define CGROUP_ID 64u /* digits of a container id */

/*
 * Copies the path in the unified hierarchy to `out`; if that hierarchy is not used (path "/"), the
 * first path other than "/" that a controller has. Empty: there is none, or it does not fit in
 * `size` bytes.
 */
void cgroup_path(const char *text, char *out, size_t size);

/* Copies the container id that a cgroup's path contains to `out`: container runtimes name the
 * cgroup by an id of 64 hexadecimal digits. Of several ids it is the innermost. Empty: there is
 * none. */
void cgroup_container_id(const char *path, char out[static CGROUP_ID + 1]);

/* Returns the path in the next line of the text, without a NUL, and its *length, and moves *text
 * behind that line. *unified: the line is that of the unified hierarchy. Returns NULL at the
 * end. */
const char *cgroup_next(const char **text, size_t *length, bool *unified);

/* ---- maps ---- */

/*
 * Searches for a mapped file whose name, without directories, begins with `name` (a library's
 * version can follow). Reads the whole text, which has a line for each mapping, so this is not for
 * frequent use. Returns 1: there is one; 0: there is none; or a negative errno if the process
 * cannot be read, which is -ESRCH also for a process without memory (a zombie, a kernel thread).
 *
 * path: on success the path of the file in the process's mount namespace; of several files that
 * with the highest address, which is usually the one that was loaded first. NULL, with size 0: not
 * needed. Not changed if there is no such file.
 */
int proc_maps_find(pid_t pid, const char *name, char *path, size_t size);

#endif
