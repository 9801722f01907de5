/* SPDX-License-Identifier: MIT */
/*
 * Played processes. The program of each is an image (image.cmake): a copy of the real object
 * files whose data is put back to what it was when a process starts in it. A process has its own
 * descriptors (files.h) and its own heap, and loses both when it ends or is killed, at any point.
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
	char *initial;		     /* what it was at the start of the program */
	struct process *user, *last; /* NULL: none */
};

struct process {
	pid_t pid;
	char name[16];
	struct image *image; /* NULL: it has none */
	bool running;	     /* not killed, and not ended by itself */
	bool gone;	     /* as its pidfd says */
	uint64_t gone_ns;
	uint32_t program; /* + 1 with each exec */
	uid_t uid;
	uint64_t pid_ns, user_ns;
	struct allocation *heap;
	struct file *files[DESCRIPTORS];
	void (*on_gone)(struct process *process); /* its parent hears of it */
	const char *(*environment)(const struct process *process, const char *name);
	void *own; /* of what plays it */
};

/* At the start of the program; `count` images. */
void images_keep(struct image *images, unsigned count);

/* Before a run, and after it: all processes are gone, with what they had. */
void processes_begin(void);
void processes_end(void);
/* image NULL: it has none. */
struct process *process_start(const char *name, struct image *image, void (*body)(void *),
			      void *arg);
/* Its threads and descriptors go at once; its pidfd says so a little later. Does not return if
 * it is the caller's. */
void process_kill(struct process *process);
/* exec, of another process: threads, descriptors and memory go; it goes on with `body`. */
void process_exec(struct process *process, void (*body)(void *), void *arg);
struct process *process_of(pid_t pid);
/* fork: the descriptor of the calling process is also the new one's, by the same number. */
void process_inherit(struct process *process, int fd);
/* A signal that it reads from a signalfd. */
void process_signal(struct process *process, int number);
/* The next of all that were started; NULL: the first. */
struct process *process_next(const struct process *process);

/* The heap of the calling process. */
void *played_calloc(size_t n, size_t size);
void *played_malloc(size_t size);
void *played_realloc(void *at, size_t size);
void played_free(void *at);

/* ---- the log of a run ---- */

__attribute__((format(printf, 1, 2))) void note(const char *format, ...);
/* The run has failed and ends. Only the first failure is printed. */
__attribute__((format(printf, 1, 2))) void fail(const char *format, ...);
bool has_failed(void);
const char *failure(void);
/* The last `lines` of what was noted. */
void notes_print(unsigned lines);

#endif
