/* SPDX-License-Identifier: MIT */
/*
 * Played files: what the kernel has behind a descriptor. Descriptors of one file share it, also
 * when it was sent to another process.
 */
#ifndef KFDSHIM_TESTS_SEEDED_FILES_H
#define KFDSHIM_TESTS_SEEDED_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tests/system/seeded/process.h"

enum kind { EVENT, EPOLL, PIPE_IN, PIPE_OUT, SOCKET, MEMORY, PIDFD, SIGNALS, DEVICE, OTHER };

#define PACKET_BYTES 256
#define PACKET_FILES 3
#define WATCHES 64 /* of one epoll file */

struct packet {
	struct packet *next;
	size_t size;
	char bytes[PACKET_BYTES];
	struct file *files[PACKET_FILES];
	size_t file_count;
};

struct watch {
	int fd;
	struct file *file; /* NULL: free */
	uint32_t events;
	uint64_t data, seen;
};

struct file {
	enum kind kind;
	unsigned holders;
	uint64_t count;		/* EVENT; PIPE: bytes; SIGNALS: a set */
	uint64_t changes;	/* + 1 whenever it becomes readable or hangs up */
	struct file *peer;	/* PIPE, SOCKET; NULL: it has hung up */
	struct packet *packets; /* SOCKET: the oldest */
	struct process *whose;	/* PIDFD: it; SOCKET, DEVICE: by which it was made */
	void *memory;
	size_t size;
	int mark;	       /* F_SETSIG */
	struct watch *watches; /* EPOLL */
};

/* A new descriptor of the process; takes over one holding. NULL: the run itself keeps it. */
int file_open(struct process *owner, struct file *file);
struct file *file_new(enum kind kind);
struct file *file_hold(struct file *file);
void file_drop(struct file *file);
/* NULL and errno: it is not open. */
struct file *file_of(int fd);
/* The same for any process. */
struct file *file_at(int fd, const struct process *owner);
int file_close(int fd);
/* All descriptors of a process. */
void files_close_of(struct process *owner);
/* What the run itself has kept. */
void files_end(void);
unsigned files_open(const struct process *owner);

bool file_readable(const struct file *file);
bool file_hung_up(const struct file *file);
/* It has become readable. */
void file_news(struct file *file);
/* Two ends; each belongs to the caller. */
void file_pair(struct file *ends[2]);
/* -EPIPE; else 0. */
int file_send(struct file *file, const void *data, size_t size, struct file *const *files,
	      size_t count);
/* The oldest packet, the caller's to free; NULL: there is none. */
struct packet *file_receive(struct file *file);
void packet_free(struct packet *packet);

#endif
