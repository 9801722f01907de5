/* SPDX-License-Identifier: MIT */
/*
 * Reads files in /proc/PID of a process or a thread, with the terms of proc(5). proc_file.h reads
 * files that the process itself has chosen.
 *
 * Threads: any. Takes no lock and does not keep errno; only proc_maps_find() allocates.
 */
#ifndef KFDSHIM_COMMON_PROC_H
#define KFDSHIM_COMMON_PROC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Reads the file `name` in /proc/PID (`pid` 0: /proc/self) to `text`, NUL-terminated, as far as it
 * fits. Returns the number of bytes, or a negative errno; the text is empty then. */
ssize_t proc_read(pid_t pid, const char *name, char *text, size_t size);
/* As proc_read(), for the file `path` below `directory`, an fd or AT_FDCWD. */
ssize_t proc_read_at(int directory, const char *path, char *text, size_t size);
/* Copies the name (comm) of a process or thread in plain ASCII; `out` is empty if it is gone. */
void proc_comm(pid_t pid, char out[static 16]);

/* ---- stat ---- */

struct proc_stat {
	char state; /* 'S' sleeping, 'T' stopped, 't' stopped by a tracer, 'Z' zombie ... */
	pid_t parent;
	bool kernel_thread;   /* PF_KTHREAD is set in its flags */
	bool ending;	      /* PF_EXITING is set: it exits, but may not be a zombie yet */
	uint64_t cpu_ticks;   /* time in user and kernel mode, in ticks */
	uint64_t child_ticks; /* time of children that it has waited for, in ticks */
	uint64_t started;     /* ticks since boot; identifies a process together with its PID */
	uint64_t stack; /* start address of its stack, which an exec changes; 0: not readable */
};

/* Reads /proc/PID/stat of a process or thread. A tick is 1 s / sysconf(_SC_CLK_TCK). Returns false
 * if this PID namespace has no process or thread with this number; all of *out is 0 then. */
bool proc_stat(pid_t pid, struct proc_stat *out);

/* ---- status ---- */

#define PROC_STATUS_BYTES 4096 /* size of a buffer for the text */

/* Reads /proc/PID/status to `text`, NUL-terminated. Omits the line "Groups:", because a process can
 * make it very long; the rest fits in PROC_STATUS_BYTES. Returns 0 or a negative errno. */
int proc_status_read(pid_t pid, char *text, size_t size);
/* As proc_status_read(), but reads from `fd`, an open status file. */
int proc_status_read_from(int fd, char *text, size_t size);
/* Returns the text behind @key (such as "\nTgid:") in a status text, or NULL if it has no such
 * line. */
const char *proc_status_field(const char *text, const char *key);
/* Returns the number behind @key in the status of a process or thread, or 0 if it cannot be
 * read. */
pid_t proc_status_number(pid_t pid, const char *key);

#define PROC_NS_LEVELS_MAX 33 /* the kernel allows 32 nested PID namespaces */

/* Writes to `out` the PIDs of a process or thread, one for each PID namespace from the caller's
 * down to the one in which it runs. `text` is its status. Returns their number, or 0 if the kernel
 * does not report them. */
unsigned proc_status_ns_pids(const char *text, pid_t out[static PROC_NS_LEVELS_MAX]);

/* ---- ns ---- */

/* Number of the initial PID namespace (PROC_PID_INIT_INO). */
#define PROC_FIRST_PID_NAMESPACE 4026531836u

/* Returns the inode number of a process's namespace of a kind ("pid", "user", ...); `pid` 0: of
 * this process. Returns 0 with errno if the process is gone, or this process may not read it. */
uint64_t proc_namespace(pid_t pid, const char *kind);

/* ---- the text of /proc/PID/cgroup ---- */

#define CGROUP_ID 64u /* digits of a container id */

/*
 * Copies the path of a process's cgroup to `out`, from the text of /proc/PID/cgroup. This is the
 * path in the unified hierarchy. If the unified hierarchy is not used (its path is "/"), it is the
 * first path of a controller that is not "/". Skips paths that do not fit in `size` bytes; `out` is
 * empty if no path is left.
 */
void cgroup_path(const char *text, char *out, size_t size);

/* Copies the container id in a cgroup's path to `out`: container runtimes name the cgroup by an id
 * of 64 hexadecimal digits. Of several ids copies the last, innermost one. `out` is empty without
 * an id. */
void cgroup_container_id(const char *path, char out[static CGROUP_ID + 1]);

/* Returns the path in the next line of the text, which is not NUL-terminated, and sets *length to
 * its length. Moves *text behind that line. *unified: the line is that of the unified hierarchy.
 * Returns NULL at the end of the text. */
const char *cgroup_next(const char **text, size_t *length, bool *unified);

/* ---- maps ---- */

/*
 * Searches /proc/PID/maps for a file whose name, without directories, begins with `name` (a
 * library's version can follow). Reads the whole text, which has a line for each mapping, so this
 * is not for frequent use. Returns 1 if there is one, 0 if there is none, or a negative errno if
 * the process cannot be read, which is -ESRCH also for a process without memory (a zombie, a kernel
 * thread).
 *
 * `path` receives the path of the file in the process's mount namespace. Of several such files it
 * receives the one with the highest address, which was usually loaded first. NULL, with `size` 0:
 * the path is not needed. Not changed if there is no such file.
 */
int proc_maps_find(pid_t pid, const char *name, char *path, size_t size);

#endif
