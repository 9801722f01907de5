// SPDX-License-Identifier: MIT
#include "sim/sandbox/tree.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sim/sandbox/say.h"

/* Creates the parent directories of `path` and, with `whole`, `path` itself. */
static int make_dirs(char *path, int whole)
{
	for (char *slash = strchr(path + 1, '/');; slash = strchr(slash + 1, '/')) {
		if (!slash && !whole)
			return 0;
		if (slash)
			*slash = '\0';
		if (mkdir(path, 0755) && errno != EEXIST)
			return -errno;
		if (!slash)
			return 0;
		*slash = '/';
	}
}

static void tree_path(char *out, size_t size, const char *path, int whole)
{
	int rc = -ENAMETOOLONG;

	if (snprintf(out, size, "%s/%s", TREE, path) < (int)size)
		rc = make_dirs(out, whole);
	if (rc)
		die(STATUS_FAILED, "cannot make %s/%s (%s)", TREE, path, strerror(-rc));
}

void tree_dir(const char *path)
{
	char full[PATH_MAX];

	tree_path(full, sizeof(full), path, 1);
}

void tree_bytes(const char *path, const void *bytes, size_t n)
{
	char full[PATH_MAX];
	FILE *file;
	int bad;

	tree_path(full, sizeof(full), path, 0);
	file = fopen(full, "we");
	if (!file)
		die(STATUS_FAILED, "cannot make %s (%s)", full, strerror(errno));
	bad = fwrite(bytes, 1, n, file) != n;
	bad |= fclose(file) != 0;
	bad |= chmod(full, 0444) != 0;
	if (bad)
		die(STATUS_FAILED, "cannot write %s", full);
}

void tree_file(const char *path, const char *format, ...)
{
	va_list args;
	char *text;
	int n;

	va_start(args, format);
	n = vasprintf(&text, format, args);
	va_end(args);
	if (n < 0)
		die(STATUS_FAILED, "out of memory for %s", path);
	tree_bytes(path, text, (size_t)n);
	free(text);
}

void tree_link(const char *path, const char *target)
{
	char full[PATH_MAX];

	tree_path(full, sizeof(full), path, 0);
	if (symlink(target, full))
		die(STATUS_FAILED, "cannot link %s (%s)", full, strerror(errno));
}

const char *tree_name(const char *format, ...)
{
	static char names[4][128];
	static unsigned next;
	char *name = names[next++ % 4];
	va_list args;

	va_start(args, format);
	vsnprintf(name, sizeof(names[0]), format, args);
	va_end(args);
	return name;
}
