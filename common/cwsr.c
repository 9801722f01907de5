// SPDX-License-Identifier: MIT
#include "common/cwsr.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define PARAMETER "/sys/module/amdgpu/parameters/cwsr_enable"
#define NODES "/sys/class/kfd/kfd/topology/nodes"
#define NODES_MAX 256
#define PROPERTIES 8192 /* size of a buffer for a node's properties file */

static int read_file(const char *path, char *text, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return -errno;
	n = read(fd, text, size - 1);
	close(fd);
	text[n > 0 ? n : 0] = '\0';
	return n < 0 ? -EIO : 0;
}

/* Reads the gpu_id of a topology node as text, which is "0" for a CPU. Returns 0; -ENOENT if there
 * is no such node; or another negative errno, for example for a node that a device cgroup hides. */
static int gpu_of(int node, char gpu_id[16])
{
	char path[96];
	int error;

	snprintf(path, sizeof(path), NODES "/%d/gpu_id", node);
	error = read_file(path, gpu_id, 16);
	gpu_id[strcspn(gpu_id, "\n")] = '\0';
	return error;
}

/* Returns true if the driver reports that it has no save area for the waves of this node. */
static bool has_no_area(int node)
{
	char path[96], properties[PROPERTIES];

	snprintf(path, sizeof(path), NODES "/%d/properties", node);
	return read_file(path, properties, sizeof(properties)) == 0 &&
	       strstr(properties, "\ncwsr_size 0\n") != NULL;
}

bool cwsr_is_missing(char why[static CWSR_WHY])
{
	char text[16] = "";
	int error;

	if (read_file(PARAMETER, text, sizeof(text)) == 0 && strcmp(text, "0\n") == 0) {
		snprintf(why, CWSR_WHY, "running waves cannot be saved (amdgpu.cwsr_enable=0)");
		return true;
	}
	for (int node = 0; node < NODES_MAX; node++) {
		error = gpu_of(node, text);
		if (error == -ENOENT)
			return false;
		if (error || strcmp(text, "0") == 0 || !has_no_area(node))
			continue;
		snprintf(why, CWSR_WHY,
			 "running waves cannot be saved by GPU %s (cwsr_size 0 in its topology)",
			 text);
		return true;
	}
	return false;
}
