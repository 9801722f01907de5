// SPDX-License-Identifier: MIT
#include "shim/topology.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/cwsr.h"
#include "shim/config.h"

#define TOPOLOGY "/sys/class/kfd/kfd/topology/nodes"
#define NODES_MAX 256

struct node_files {
	uint32_t gpu_id;
	char properties[8192]; /* lines of "name value" */
};

static int read_file(int node, const char *name, char *text, size_t size)
{
	char path[128];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), TOPOLOGY "/%d/%s", node, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	n = read(fd, text, size - 1);
	close(fd);
	if (n < 0)
		return -EIO;
	text[n] = '\0';
	return 0;
}

/* Finds the next GPU from node *node on and reads its files; *node becomes the number after it. */
static bool next_gpu(int *node, struct node_files *files)
{
	char text[32];
	int err;

	while (*node < NODES_MAX) {
		err = read_file(*node, "gpu_id", text, sizeof(text));
		if (err == -ENOENT)
			return false;
		files->gpu_id = err ? 0 : (uint32_t)strtoul(text, NULL, 10);
		if (files->gpu_id)
			err = read_file(*node, "properties", files->properties,
					sizeof(files->properties));
		++*node;
		if (files->gpu_id && !err)
			return true;
	}
	return false;
}

static bool property(const struct node_files *files, const char *name, uint64_t *value)
{
	size_t length = strlen(name);

	for (const char *line = files->properties; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (strncmp(line, name, length) != 0 || line[length] != ' ')
			continue;
		*value = strtoull(line + length, NULL, 10);
		return true;
	}
	return false;
}

uint64_t topology_capability(uint32_t gpu_id)
{
	struct node_files files;
	uint64_t capability = 0;
	int node = 0;

	while (next_gpu(&node, &files))
		if (files.gpu_id == gpu_id)
			return property(&files, "capability", &capability) ? capability : 0;
	return 0;
}

bool topology_saves_waves(void)
{
	enum { UNREAD, SAVED, LOST };
	static int known; /* result of the first call; atomic */
	char why[CWSR_WHY];

	if (__atomic_load_n(&known, __ATOMIC_RELAXED) == UNREAD) {
		bool lost = cwsr_is_missing(why);

		if (lost)
			kfdshim_log(LOG_INFO, "%s; held by level gate only", why);
		__atomic_store_n(&known, lost ? LOST : SAVED, __ATOMIC_RELAXED);
	}
	return __atomic_load_n(&known, __ATOMIC_RELAXED) == SAVED;
}

uint32_t topology_gpu_of_render(unsigned minor)
{
	struct node_files files;
	uint64_t found;
	int node = 0;

	while (next_gpu(&node, &files))
		if (property(&files, "drm_render_minor", &found) && found == minor)
			return files.gpu_id;
	return 0;
}
