/* SPDX-License-Identifier: MIT */
/*
 * Simulated processes. The program of each is an image (image.cmake): a copy of the real object
 * files, whose data is reset when a process starts in it. A process has its own descriptors
 * (files.h) and its own heap, and loses both when it ends or is killed, at any point.
 *
 * Threads: fibers of one real thread (fiber.h).
 */
#ifndef KFDSHIM_TESTS_SEEDED_PROCESS_H
#define KFDSHIM_TESTS_SEEDED_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "tests/system/seeded/fiber.h"

#define DESCRIPTORS 128

/* The data of an image, between two symbols of the linker. */
struct image {
	char *begin, *end;
	char *initial;		     /* content at the start of the program */
	struct process *user, *last; /* NULL: none */
};

#define READINGS 32
/* Nested reads of one thread (calls_urcu.c). */
struct reading {
	unsigned fiber, depth;
	uint64_t turn; /* of the process, when the first of them began */
};

/* A simulated process. It stays valid until the end of the run, also after its own end. */
struct process {
	pid_t pid;
	char name[16];
	struct image *image; /* NULL: a process without an image */
	bool running;	     /* neither killed nor ended by itself */
	bool gone;	     /* state of its pidfd */
	uint64_t gone_ns;
	uint32_t program; /* incremented by each exec */
	uid_t uid;
	uint64_t pid_ns, user_ns;
	struct allocation *heap;
	struct file *files[DESCRIPTORS];
	void (*on_gone)(struct process *process); /* notifies the parent */
	const char *(*environment)(const struct process *process, const char *name);
	struct reading readings[READINGS];
	uint64_t turn; /* number of waits for readers */
	void *own;     /* data of the code that simulates it */
};

/* Saves the initial data of `count` images; called at the start of the program. */
void images_keep(struct image *images, unsigned count);

/* Called before and after a run: all processes are removed with everything that they had. */
void processes_begin(void);
void processes_end(void);
/* Starts a process with a first thread that runs body(arg). `image` NULL: it has none. */
struct process *process_start(const char *name, struct image *image, void (*body)(void *),
			      void *arg);
/* Ends a process: its threads and descriptors go at once, its pidfd becomes readable a little
 * later. Does not return if it is the caller's process. */
void process_kill(struct process *process);
/* exec of another process: its threads, descriptors and memory go, and it continues with `body`. */
void process_exec(struct process *process, void (*body)(void *), void *arg);
/* Returns the process with this PID, also after its end; NULL: none had it. */
struct process *process_of(pid_t pid);
/* As fork: the new process gets a descriptor of the calling process under the same number. */
void process_inherit(struct process *process, int fd);
/* Raises a signal that the process reads from a signalfd. */
void process_signal(struct process *process, int number);
/* Returns the process started after this one; with NULL the first; NULL: there is none. */
struct process *process_next(const struct process *process);

/* The heap of the calling process. */
void *played_calloc(size_t n, size_t size);
void *played_malloc(size_t size);
void *played_realloc(void *at, size_t size);
void played_free(void *at);

/* ---- the log of a run ---- */

/* Writes a line into the log of the run. */
__attribute__((format(printf, 1, 2))) void note(const char *format, ...);
/* Fails and ends the run. Only the first failure is printed. */
__attribute__((format(printf, 1, 2))) void fail(const char *format, ...);
/* Return whether the run has failed, and the text of the failure. */
bool has_failed(void);
const char *failure(void);
/* Prints the last `lines` lines of the log. */
void notes_print(unsigned lines);

#endif
