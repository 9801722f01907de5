/* SPDX-License-Identifier: MIT */
/*
 * One process that plays many peers of the process under test (shim/links/peers.h). Each peer has a
 * shared-memory file that the playing process has locked, and a socket.
 *
 * The system calls of the process under test are counted, so a program that includes this file is
 * linked with
 * -Wl,--wrap=pread,--wrap=pwrite,--wrap=write,--wrap=sendto,--wrap=recvfrom,--wrap=fcntl. Include
 * it once in a program.
 */
#ifndef KFDSHIM_TESTS_MANY_PEERS_H
#define KFDSHIM_TESTS_MANY_PEERS_H

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "channel/client_shm.h"
#include "channel/protocol.h"
#include "common/clock.h"
#include "tests/lib/mock_kfd.h"

#define MANY 63 /* peers; with the process under test: 64 */

/* System calls of the program's main thread, which rings the doorbell, and of the agent's thread;
 * the datagrams and the write()s (to the agent's eventfd) among those of the main thread; the
 * pread()s of both together. */
static _Atomic unsigned calls_of_program, calls_of_agent, program_datagrams, program_writes,
	shms_read;

static inline void count_call(void)
{
	if (gettid() == getpid())
		calls_of_program++;
	else
		calls_of_agent++;
}

ssize_t __real_pread(int fd, void *to, size_t size, off_t at);
ssize_t __wrap_pread(int fd, void *to, size_t size, off_t at);
ssize_t __real_pwrite(int fd, const void *from, size_t size, off_t at);
ssize_t __wrap_pwrite(int fd, const void *from, size_t size, off_t at);
ssize_t __real_write(int fd, const void *from, size_t size);
ssize_t __wrap_write(int fd, const void *from, size_t size);
ssize_t __real_sendto(int fd, const void *from, size_t size, int flags, const struct sockaddr *to,
		      socklen_t length);
ssize_t __wrap_sendto(int fd, const void *from, size_t size, int flags, const struct sockaddr *to,
		      socklen_t length);
ssize_t __real_recvfrom(int fd, void *to, size_t size, int flags, struct sockaddr *from,
			socklen_t *length);
ssize_t __wrap_recvfrom(int fd, void *to, size_t size, int flags, struct sockaddr *from,
			socklen_t *length);
int __real_fcntl(int fd, int command, ...);
int __wrap_fcntl(int fd, int command, ...);

ssize_t __wrap_pread(int fd, void *to, size_t size, off_t at)
{
	count_call();
	shms_read++;
	return __real_pread(fd, to, size, at);
}

ssize_t __wrap_pwrite(int fd, const void *from, size_t size, off_t at)
{
	count_call();
	return __real_pwrite(fd, from, size, at);
}

ssize_t __wrap_write(int fd, const void *from, size_t size)
{
	count_call();
	program_writes += gettid() == getpid();
	return __real_write(fd, from, size);
}

ssize_t __wrap_sendto(int fd, const void *from, size_t size, int flags, const struct sockaddr *to,
		      socklen_t length)
{
	count_call();
	program_datagrams += gettid() == getpid();
	return __real_sendto(fd, from, size, flags, to, length);
}

ssize_t __wrap_recvfrom(int fd, void *to, size_t size, int flags, struct sockaddr *from,
			socklen_t *length)
{
	count_call();
	return __real_recvfrom(fd, to, size, flags, from, length);
}

int __wrap_fcntl(int fd, int command, ...)
{
	va_list list;
	void *arg;

	va_start(list, command);
	arg = va_arg(list, void *);
	va_end(list);
	count_call();
	return __real_fcntl(fd, command, arg);
}

/* Directory of the peers. */
static char many_dir[64];

/* The playing process: its pid, and the pipes to it and from it. */
static struct many {
	pid_t pid;
	int to, from;
} many;

/* When peers were woken, CLOCK_MONOTONIC ns. */
struct many_times {
	uint64_t first_ns, last_ns;
};

static inline struct sockaddr_un many_address(const char *name)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};

	snprintf(address.sun_path, sizeof(address.sun_path), "%.64s/%.40s", many_dir, name);
	return address;
}

/* Returns a bound datagram socket for peer `number`. */
static inline int many_bind(int number)
{
	struct sockaddr_un address;
	char name[20];
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	snprintf(name, sizeof(name), "%d-%d.socket", (int)getpid(), number);
	address = many_address(name);
	CHECK(fd >= 0 && bind(fd, (struct sockaddr *)&address, sizeof(address)) == 0);
	return fd;
}

/* Creates the shared-memory file of peer `number`, which is active on FAKE_GPU, and locks it. */
static inline void many_shm(int number, int priority)
{
	static struct client_shm shm;
	struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	char path[128];
	int fd;

	shm.magic = CLIENT_SHM_MAGIC;
	shm.version = CLIENT_SHM_VERSION;
	shm.size = sizeof(shm);
	shm.priority = priority;
	shm.nodes[0].gpu_id = FAKE_GPU;
	shm.nodes[0].activity = 2;
	snprintf(path, sizeof(path), "%s/%d-%d.lane", many_dir, (int)getpid(), number);
	fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	CHECK(fd >= 0 && write(fd, &shm, sizeof(shm)) == (ssize_t)sizeof(shm));
	CHECK(__real_fcntl(fd, F_SETLK, &whole) == 0);
}

/* Sends a datagram, as a peer does after a change, to each socket that is not of the playing
 * process. */
static inline void many_send(int fd)
{
	struct sockaddr_un address;
	struct dirent *entry;
	char own[16];
	DIR *dir = opendir(many_dir);

	snprintf(own, sizeof(own), "%d-", (int)getpid());
	CHECK(dir != NULL);
	while ((entry = readdir(dir)))
		if (strstr(entry->d_name, ".socket") && strncmp(entry->d_name, own, strlen(own))) {
			address = many_address(entry->d_name);
			/* Its queue is full until the peer has had a core. */
			EVENTUALLY(__real_sendto(fd, "l", 1, 0, (struct sockaddr *)&address,
						 sizeof(address)) == 1,
				   2000);
		}
	closedir(dir);
}

/* Returns the number of peers that have received a datagram since the last call. */
static inline int many_woken(const int *sockets)
{
	int woken = 0;
	char byte;

	for (int i = 0; i < MANY; i++) {
		bool any = false;

		while (__real_recvfrom(sockets[i], &byte, 1, 0, NULL, NULL) == 1)
			any = true;
		woken += any;
	}
	return woken;
}

/* Waits until all peers have received a datagram. Returns the times of the first and of the last
 * one. */
static inline struct many_times many_wait(const int *sockets)
{
	struct many_times times = {0};
	struct pollfd fds[MANY];

	for (int i = 0; i < MANY; i++)
		fds[i] = (struct pollfd){.fd = sockets[i], .events = POLLIN};
	for (int woken = 0; woken < MANY; woken += many_woken(sockets)) {
		CHECK(poll(fds, MANY, 5000) > 0);
		times.last_ns = clock_ns();
		if (woken == 0)
			times.first_ns = times.last_ns;
	}
	return times;
}

/* The playing process: reads commands of one byte from `from` and replies to `to`.
 * 's': the first peer sends a datagram; the reply is one byte. 'n': the reply is the number of
 * peers that have received a datagram since the last command, one byte. 't': waits for a datagram
 * to each peer and replies with a struct many_times. Ends when the pipe is closed. */
static inline void many_play(int priority, int from, int to)
{
	int sockets[MANY];
	struct many_times times;
	char word, got;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (int i = 0; i < MANY; i++) {
		sockets[i] = many_bind(i);
		many_shm(i, priority);
	}
	CHECK(write(to, "", 1) == 1);
	while (read(from, &word, 1) == 1) {
		if (word == 't') {
			times = many_wait(sockets);
			CHECK(write(to, &times, sizeof(times)) == (ssize_t)sizeof(times));
			continue;
		}
		if (word == 's')
			many_send(sockets[0]);
		got = word == 'n' ? (char)many_woken(sockets) : 0;
		CHECK(write(to, &got, 1) == 1);
	}
	_exit(0);
}

/* Sends a command (see many_play()) and returns the reply. */
static inline int many_command(char word)
{
	char got;

	CHECK(write(many.to, &word, 1) == 1 && read(many.from, &got, 1) == 1);
	return got;
}

/* Starts the playing process. To be called before the agent is started. On return the directory of
 * the peers exists and the environment names it. */
static inline void many_start(int priority)
{
	static char runtime[] = "/tmp/kfdshim-many-XXXXXX";
	int in[2], out[2];
	char byte;

	CHECK(mkdtemp(runtime) != NULL);
	snprintf(many_dir, sizeof(many_dir), "%s/kfdshim", runtime);
	CHECK(mkdir(many_dir, 0700) == 0);
	setenv("XDG_RUNTIME_DIR", runtime, 1);
	setenv("KFDSHIM_SOCKET", "/nowhere/socket", 1);
	CHECK(pipe2(in, O_CLOEXEC) == 0 && pipe2(out, O_CLOEXEC) == 0);
	many.pid = fork();
	if (many.pid == 0)
		many_play(priority, in[0], out[1]);
	close(in[0]);
	close(out[1]);
	many.to = in[1];
	many.from = out[0];
	CHECK(many.pid > 0 && read(many.from, &byte, 1) == 1);
}

/* Ends the playing process and removes its directory. */
static inline void many_end(void)
{
	char command[160];

	kill(many.pid, SIGKILL);
	CHECK(waitpid(many.pid, NULL, 0) == many.pid);
	snprintf(command, sizeof(command), "rm -rf %.60s/..", many_dir);
	command[strlen(command) - 3] = '\0'; /* cut "/..": remove the parent directory */
	CHECK(system(command) == 0);
}

#endif
