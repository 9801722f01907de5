// SPDX-License-Identifier: MIT
#include "scheduler/daemon/recording/record.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/clock.h"
#include "scheduler/daemon/log.h"
#include "scheduler/daemon/privileges.h"

#define MAGIC "kfdschedd-record "
#define PIECE 65536u

static const char *file_path;
static int file = -1, pipe_ends[2] = {-1, -1};
static uint64_t start_ns, header_bytes;

/* ---- opening ---- */

/* Returns the reason why the file must not be overwritten, or NULL. */
static const char *foreign(int fd)
{
	char begin[sizeof(MAGIC) - 1];
	struct stat st;
	ssize_t n;

	if (fstat(fd, &st) < 0)
		return strerror(errno);
	if (!S_ISREG(st.st_mode))
		return "it is not a regular file";
	if (st.st_uid != geteuid())
		return "it belongs to another user";
	if (st.st_nlink != 1)
		return "it has several hard links";
	n = pread(fd, begin, sizeof(begin), 0);
	if (n < 0)
		return strerror(errno);
	if (n > 0 && (n != sizeof(begin) || memcmp(begin, MAGIC, sizeof(begin)) != 0))
		return "it exists and is not a recording; remove it, or choose another file";
	if (flock(fd, LOCK_EX | LOCK_NB) < 0)
		return errno == EWOULDBLOCK ? "another daemon is writing it" : strerror(errno);
	return NULL;
}

/* Writes the first lines and creates the pipe. Returns 0 or a negative errno. */
static int begin(int fd)
{
	char text[96];
	int n;

	start_ns = clock_ns();
	n = snprintf(text, sizeof(text), MAGIC "%d\nstart %" PRIu64 "\n", RECORD_VERSION, start_ns);
	header_bytes = (uint64_t)n;
	if (ftruncate(fd, 0) < 0)
		return -errno;
	n = (int)write(fd, text, (size_t)n);
	if (n != (int)header_bytes)
		return n < 0 ? -errno : -ENOSPC;
	if (pipe2(pipe_ends, O_CLOEXEC) < 0)
		return -errno;
	return fcntl(pipe_ends[1], F_SETFL, O_NONBLOCK) < 0 ? -errno : 0;
}

int record_open(const char *path, char *problem, size_t size)
{
	/* O_NONBLOCK: so that open() does not wait at a FIFO or a device, which is then refused. */
	int fd = open(path,
		      O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC | O_APPEND,
		      0600);
	int error = fd < 0 ? -errno : 0;
	const char *why = NULL;

	signal(SIGXFSZ, SIG_IGN); /* so that write() fails at RLIMIT_FSIZE, instead of a signal */
	if (error == -ELOOP)
		why = "it is a symbolic link";
	else if (!error)
		why = foreign(fd);
	if (!error && !why)
		error = begin(fd);
	if (!error && !why) {
		file = fd;
		file_path = path;
		return 0;
	}
	snprintf(problem, size, "--record %s: %s", path, why ? why : strerror(-error));
	record_close();
	if (fd >= 0)
		close(fd);
	return error ? error : -EINVAL;
}

int record_pipe(void)
{
	return pipe_ends[1];
}

void record_files(int out[static RECORD_FILES])
{
	memcpy(out, (int[RECORD_FILES]){file, pipe_ends[0], pipe_ends[1]},
	       RECORD_FILES * sizeof(*out));
}

uint64_t record_start_ns(void)
{
	return start_ns;
}

void record_close(void)
{
	for (int i = 0; i < 2; i++) {
		if (pipe_ends[i] >= 0)
			close(pipe_ends[i]);
		pipe_ends[i] = -1;
	}
}

/* ---- writing ---- */

static int put(int out, const char *text, size_t length)
{
	for (size_t done = 0; done < length;) {
		ssize_t n = write(out, text + done, length - done);

		if (n < 0 && errno != EINTR)
			return -errno;
		done += n > 0 ? (size_t)n : 0;
	}
	return 0;
}

/* Writes the rest of the line that the last piece has begun (`in_line`), because the whole next
 * piece `text` does not fit in the file. Returns 1 or a negative errno. */
static int finish_line(int out, const char *text, size_t length, bool in_line)
{
	const char *end = in_line ? memchr(text, '\n', length) : NULL;
	int error = end ? put(out, text, (size_t)(end - text) + 1) : 0;

	return error ? error : 1;
}

int record_copy(int in, int out, uint64_t written, uint64_t max)
{
	static char text[PIECE]; /* static, because the stack is locked in memory */
	bool in_line = false;
	int error = 0;

	while (!error) {
		ssize_t n = read(in, text, sizeof(text));

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : 0;
		if (written + (size_t)n > max)
			return finish_line(out, text, (size_t)n, in_line);
		error = put(out, text, (size_t)n);
		written += (size_t)n;
		in_line = text[n - 1] != '\n';
	}
	return error;
}

int record_run(uint64_t *refused)
{
	int error;

	privilege_drop(FILTER_RECORD, refused);
	error = record_copy(pipe_ends[0], file, header_bytes, RECORD_BYTES_MAX);
	filter_report();
	if (error > 0)
		log_info("the recording has ended: %s has reached its limit of %" PRIu64 " MiB",
			 file_path, RECORD_BYTES_MAX >> 20);
	else if (error)
		log_error("the recording has ended: %s: %s", file_path, strerror(-error));
	return error != 0;
}
