// SPDX-License-Identifier: MIT
/* Reads debugfs kfd/mqds and kfd/hqds. Each text is read as a whole, because the driver writes the
 * whole text when the file is opened. For hqds the driver reads the registers of every slot
 * then. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/inspect/debugfs.h"
#include "cli/inspect/sources.h"
#include "common/allocate.h"
#include "common/clock.h"

#define DEBUGFS "/sys/kernel/debug"
#define SHARED_NS 200000000u /* 200 ms: age up to which a text is used again */
#define TEXT_FIRST 65536u    /* first size of the buffer, bytes */
/* Maximum length of a text. A longer one is rejected (-EFBIG), because it cannot be the driver's: a
 * process with 1024 queues on eight XCCs needs 46 MB. */
#define TEXT_MAX (1024u << 20)

struct debugfs_file_text {
	char *at;
	size_t bytes, room;
	bool there;  /* the text was read since source_debugfs_renew() */
	uint64_t ns; /* CLOCK_MONOTONIC of the reading */
};

struct source_debugfs {
	struct debugfs_file_text mqds, hqds;
	struct topology_gpu gpus[TOPOLOGY_GPUS];
	size_t n_gpus;
};

struct source_debugfs *source_debugfs_new(void)
{
	return allocate(1, sizeof(struct source_debugfs));
}

void source_debugfs_renew(struct source_debugfs *debugfs)
{
	debugfs->mqds.there = debugfs->hqds.there = false;
}

void source_debugfs_free(struct source_debugfs *debugfs)
{
	if (!debugfs)
		return;
	free(debugfs->mqds.at);
	free(debugfs->hqds.at);
	free(debugfs);
}

const char *source_debugfs_text(const struct source_debugfs *debugfs, enum observe_source source,
				size_t *bytes)
{
	const struct debugfs_file_text *text = source == OBSERVE_MQD   ? &debugfs->mqds
					       : source == OBSERVE_HQD ? &debugfs->hqds
								       : NULL;

	if (!text || !text->there)
		return NULL;
	*bytes = text->bytes;
	return text->at;
}

/* Writes the reason for which a debugfs file cannot be read. Returns -error. */
static int no_file(const char *name, int error, char *why)
{
	if (error == ENOENT && access(DEBUGFS "/kfd", F_OK) == 0)
		snprintf(why, OBSERVE_WHY, "the driver has no debugfs file kfd/%s", name);
	else if (error == ENOENT)
		snprintf(why, OBSERVE_WHY,
			 "there is no " DEBUGFS "/kfd (mount -t debugfs none " DEBUGFS
			 ", with amdgpu loaded and CONFIG_DEBUG_FS)");
	else if (error == EACCES || error == EPERM)
		snprintf(why, OBSERVE_WHY,
			 "not allowed to read " DEBUGFS "/kfd/%s: only root can read it, and no "
			 "user if the kernel is locked down",
			 name);
	else
		snprintf(why, OBSERVE_WHY, "cannot read " DEBUGFS "/kfd/%s: %s", name,
			 strerror(error));
	return -error;
}

static int make_room(struct debugfs_file_text *text)
{
	size_t room = text->room ? 2 * text->room : TEXT_FIRST;

	if (text->room - text->bytes > 1 && text->room)
		return 0;
	if (room > TEXT_MAX)
		return -EFBIG;
	text->at = allocated(realloc(text->at, room));
	text->room = room;
	return 0;
}

static int read_all(int fd, struct debugfs_file_text *text)
{
	ssize_t n;

	text->bytes = 0;
	do {
		int r = make_room(text);

		if (r)
			return r;
		n = read(fd, text->at + text->bytes, text->room - text->bytes - 1);
		if (n < 0 && errno != EINTR)
			return -errno;
		text->bytes += n > 0 ? (size_t)n : 0;
	} while (n);
	text->at[text->bytes] = '\0';
	return 0;
}

static int read_text(struct source_debugfs *debugfs, const char *name,
		     struct debugfs_file_text *text, char *why)
{
	char path[64];
	int fd, r;

	if (text->there && clock_ns() - text->ns < SHARED_NS)
		return 0;
	text->there = false;
	snprintf(path, sizeof(path), DEBUGFS "/kfd/%s", name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return no_file(name, errno, why);
	r = read_all(fd, text);
	close(fd);
	if (r)
		return no_file(name, -r, why);
	text->there = true;
	text->ns = clock_ns();
	/* Read the topology again, too: a change of the partition mode changes the nodes. */
	debugfs->n_gpus = topology_gpus(debugfs->gpus, TOPOLOGY_GPUS);
	return 0;
}

static struct debugfs_copy parsed(const struct source_debugfs *debugfs,
				  const struct debugfs_file_text *text)
{
	return (struct debugfs_copy){text->at, text->bytes, debugfs->gpus, debugfs->n_gpus};
}

int source_mqds(struct source_debugfs *debugfs, pid_t host_pid, struct observe_list *out, WHY)
{
	int r = read_text(debugfs, "mqds", &debugfs->mqds, why);
	struct debugfs_copy text = parsed(debugfs, &debugfs->mqds);

	if (r)
		return r;
	if (host_pid > 0)
		return debugfs_mqds(&text, host_pid, out, why);
	snprintf(why, OBSERVE_WHY,
		 "debugfs kfd/mqds has pids of the machine's initial pid namespace, in which the "
		 "pid of this process is not known here");
	return -EXDEV;
}

int source_hqds(struct source_debugfs *debugfs, struct observe_list *out, WHY)
{
	int r = read_text(debugfs, "hqds", &debugfs->hqds, why);
	struct debugfs_copy text = parsed(debugfs, &debugfs->hqds);

	return r ? r : debugfs_hqds(&text, out, why);
}
