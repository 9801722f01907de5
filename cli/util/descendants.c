// SPDX-License-Identifier: MIT
#include "cli/util/descendants.h"

#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/util/command.h"
#include "cli/util/read_files.h"

#define PROCESSES 65536u /* most processes that are read from /proc */

struct proc_entry {
	pid_t pid, parent;
	bool zombie, ours; /* ours: a descendant, as found so far */
};

/* Reads pid, parent and state of one process. Returns false if the name is no pid, or if the
 * process has ended. */
static bool read_entry(const char *name, struct proc_entry *out)
{
	char text[1024], state;
	int parent;

	out->pid = cli_pid(name);
	if (out->pid == 0 || read_text(text, sizeof(text), "/proc/%s/stat", name))
		return false;
	/* The process's name, in brackets before the state, may itself contain brackets and
	 * blanks. */
	const char *rest = strrchr(text, ')');

	if (!rest || sscanf(rest + 1, " %c %d", &state, &parent) != 2)
		return false;
	out->parent = parent;
	out->zombie = state == 'Z' || state == 'X';
	out->ours = false;
	return true;
}

static int by_pid(const void *a, const void *b)
{
	const struct proc_entry *x = a, *y = b;

	return (x->pid > y->pid) - (x->pid < y->pid);
}

/* Returns true if the parent is `root` or a descendant that was found already. `list` is sorted by
 * pid. */
static bool has_our_parent(const struct proc_entry *list, size_t n, pid_t root,
			   const struct proc_entry *e)
{
	const struct proc_entry key = {.pid = e->parent};
	const struct proc_entry *parent;

	if (e->parent == root)
		return true;
	parent = bsearch(&key, list, n, sizeof(*list), by_pid);
	return parent && parent->ours;
}

int descendants_of(pid_t root, pid_t *out, size_t max)
{
	DIR *dir = opendir("/proc");
	struct proc_entry *list = calloc(PROCESSES, sizeof(*list));
	const struct dirent *entry;
	size_t n = 0, found = 0;
	bool more = true;

	if (!dir || !list) {
		int error = dir ? ENOMEM : errno;

		if (dir)
			closedir(dir);
		free(list);
		return -error;
	}
	while (n < PROCESSES && (entry = readdir(dir)))
		n += read_entry(entry->d_name, &list[n]);
	closedir(dir);
	qsort(list, n, sizeof(*list), by_pid);
	/* A parent can have a higher pid than its child, so repeat until a pass finds nothing
	 * new. */
	while (more) {
		more = false;
		for (size_t i = 0; i < n; i++) {
			if (list[i].ours || !has_our_parent(list, n, root, &list[i]))
				continue;
			list[i].ours = more = true;
		}
	}
	for (size_t i = 0; i < n; i++)
		if (list[i].ours && !list[i].zombie && found < max)
			out[found++] = list[i].pid;
	free(list);
	return (int)found;
}
