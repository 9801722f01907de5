/* SPDX-License-Identifier: MIT */
/*
 * Simulated files: the kernel's object behind a descriptor. Descriptors of one file share it, also
 * after it was sent to another process. Files are reference-counted (`holders`).
 */
#ifndef KFDSHIM_TESTS_SEEDED_FILES_H
#define KFDSHIM_TESTS_SEEDED_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tests/system/seeded/process.h"

/* Kind of a simulated file. EVENT: eventfd; MEMORY: memfd; SIGNALS: signalfd; DEVICE: /dev/kfd. */
enum kind { EVENT, EPOLL, PIPE_IN, PIPE_OUT, SOCKET, MEMORY, PIDFD, SIGNALS, DEVICE, OTHER };

#define PACKET_BYTES 256
#define PACKET_FILES 3
#define WATCHES 64 /* maximum for one epoll file */

/* A message in a SOCKET, with the files that were sent with it. */
struct packet {
	struct packet *next;
	size_t size;
	char bytes[PACKET_BYTES];
	struct file *files[PACKET_FILES];
	size_t file_count;
};

/* An entry of an epoll file. */
struct watch {
	int fd;
	struct file *file; /* NULL: this entry is free */
	uint32_t events;
	uint64_t data, seen;
};

/* The kernel's object behind one or more descriptors. */
struct file {
	enum kind kind;
	unsigned holders;
	uint64_t count;		/* EVENT: value; PIPE: bytes; SIGNALS: set of signals */
	uint64_t changes;	/* incremented whenever the file becomes readable or hangs up */
	struct file *peer;	/* PIPE, SOCKET: the other end; NULL: it has hung up */
	struct packet *packets; /* SOCKET: the oldest packet */
	/* PIDFD: the process; SOCKET, DEVICE: the process that created it */
	struct process *whose;
	void *memory;
	size_t size;
	int mark;	       /* value of F_SETSIG */
	struct watch *watches; /* EPOLL: array of WATCHES */
};

/* Opens a new descriptor of the process and takes over one reference. `owner` NULL: the run itself
 * keeps the file. Returns the descriptor. */
int file_open(struct process *owner, struct file *file);
/* Create a file with one reference, add a reference, and drop one. */
struct file *file_new(enum kind kind);
struct file *file_hold(struct file *file);
void file_drop(struct file *file);
/* Returns the file of a descriptor of the calling process, or NULL with errno set if it is not
 * open. */
struct file *file_of(int fd);
/* Returns the file of a descriptor of any process; NULL: not open. */
struct file *file_at(int fd, const struct process *owner);
/* Closes a descriptor of the calling process, as close(2). */
int file_close(int fd);
/* Closes all descriptors of a process. */
void files_close_of(struct process *owner);
/* Drops the files that the run itself has kept. */
void files_end(void);
/* Returns the number of open descriptors of a process. */
unsigned files_open(const struct process *owner);

/* Return whether a read would return at once, and whether the other end has hung up. */
bool file_readable(const struct file *file);
bool file_hung_up(const struct file *file);
/* Notes that the file has become readable. */
void file_changes(struct file *file);
/* Makes a connected pair of sockets; each belongs to the caller. */
void file_pair(struct file *ends[2]);
/* Sends a packet with `count` files to the other end. Returns 0 or -EPIPE. */
int file_send(struct file *file, const void *data, size_t size, struct file *const *files,
	      size_t count);
/* Takes the oldest packet, which the caller frees with packet_free(); NULL: there is none. */
struct packet *file_receive(struct file *file);
void packet_free(struct packet *packet);

#endif
