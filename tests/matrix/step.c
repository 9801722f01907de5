// SPDX-License-Identifier: MIT
#include "tests/matrix/step.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define FIRST_GPU "/sys/class/kfd/kfd/topology/nodes/1/properties"

static const char *current;

static void passed(void)
{
	if (current)
		printf("%s\tpass\n", current);
	fflush(stdout);
}

void step(const char *name)
{
	passed();
	current = name;
}

int step_end(void)
{
	passed();
	return 0;
}

void step_not_applicable(const char *why)
{
	printf("%s\tnot applicable: %s\n", current, why);
	fflush(stdout);
	current = NULL;
}

void step_fail(const char *format, ...)
{
	va_list args;

	printf("%s\t", current);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	printf("\n");
	fflush(stdout);
	/* Nothing is cleaned up, because the runtime's threads may still use it. */
	_exit(1);
}

/* Writes the compiler's name of the first GPU, "gfx90a" for 90010: major, minor, and stepping in
 * hex. */
static void gpu_name(char *out, size_t size)
{
	FILE *file = fopen(FIRST_GPU, "re");
	char line[128];
	unsigned version = 0;

	while (file && fgets(line, sizeof(line), file))
		sscanf(line, "gfx_target_version %u", &version);
	if (file)
		fclose(file);
	if (!version)
		step_fail("the topology has no GPU");
	/* The driver numbers gfx940 to gfx942 as 9.4.x, as the compiler does. */
	snprintf(out, size, "gfx%u%u%x", version / 10000, version / 100 % 100, version % 100);
}

unsigned step_kernel_us(unsigned usual)
{
	const char *ms = getenv("MATRIX_KERNEL_MS");

	return ms ? (unsigned)strtoul(ms, NULL, 10) * 1000 : usual;
}

const void *step_code_object(const char *directory, size_t *bytes)
{
	char gpu[32], path[4096];
	struct stat st;
	void *map;
	int fd;

	gpu_name(gpu, sizeof(gpu));
	snprintf(path, sizeof(path), "%s/kfdreplay_spin.%s.co", directory, gpu);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st))
		step_fail("%s: %s", path, strerror(errno));
	map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	if (map == MAP_FAILED)
		step_fail("%s: %s", path, strerror(errno));
	*bytes = (size_t)st.st_size;
	return map;
}
