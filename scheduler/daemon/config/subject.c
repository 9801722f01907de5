// SPDX-License-Identifier: MIT
#include "scheduler/daemon/config/match_rules.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/cgroup.h"
#include "common/proc.h"

#define TEXT_MAX 16384u /* bytes of a file in /proc; a process has about ten cgroups at most */

/* Reads a whole file as text. Returns NULL if it cannot be read or is longer than TEXT_MAX - 1.
 * The caller frees it. */
static char *read_text(pid_t pid, const char *name)
{
	char path[64], *text = malloc(TEXT_MAX);
	size_t n = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	f = text ? fopen(path, "re") : NULL;
	if (f) {
		n = fread(text, 1, TEXT_MAX, f);
		fclose(f);
	}
	if (n == 0 || n == TEXT_MAX) {
		free(text);
		return NULL;
	}
	text[n] = '\0';
	return text;
}

/* Returns the text after `word`, or NULL. */
static const char *behind(const char *text, const char *word)
{
	const char *at = strstr(text, word);

	return at ? at + strlen(word) : NULL;
}

static void read_ids(const char *status, struct proc_attrs *out)
{
	const char *at = behind(status, "\nUid:\t");
	unsigned real, effective, gid;
	int used;

	if (at && sscanf(at, "%u %u", &real, &effective) == 2)
		out->uid = effective;
	at = behind(status, "\nGid:\t");
	if (at && sscanf(at, "%u %u", &real, &effective) == 2)
		out->gids[out->gid_count++] = effective;
	for (at = behind(status, "\nGroups:\t"); at && *at >= '0' && *at <= '9';) {
		if (out->gid_count == SUBJECT_GIDS || sscanf(at, "%u%n", &gid, &used) != 1)
			return;
		out->gids[out->gid_count++] = gid;
		at += used;
		at += *at == ' ';
	}
}

static void read_exe(pid_t pid, char out[static SUBJECT_PATH])
{
	/* the kernel appends this when the file was replaced, for example by an upgrade */
	static const char gone[] = " (deleted)";
	const size_t tail = sizeof(gone) - 1;
	char path[64];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
	n = readlink(path, out, SUBJECT_PATH);
	if (n <= 0 || n == (ssize_t)SUBJECT_PATH || out[0] != '/') {
		out[0] = '\0';
		return;
	}
	out[n] = '\0';
	if ((size_t)n > tail && strcmp(out + n - tail, gone) == 0)
		out[(size_t)n - tail] = '\0';
}

static bool same_namespace(pid_t pid, const char *kind)
{
	uint64_t its = proc_namespace(pid, kind);

	return its && its == proc_namespace(0, kind);
}

int subject_read(pid_t pid, struct proc_attrs *out)
{
	char *status = read_text(pid, "status"), *cgroups;

	*out = (struct proc_attrs){.pid = pid, .uid = (uid_t)-1};
	if (!status)
		return -ESRCH;
	read_ids(status, out);
	free(status);
	cgroups = read_text(pid, "cgroup");
	if (cgroups) {
		cgroup_path(cgroups, out->cgroup, sizeof(out->cgroup));
		cgroup_container_id(out->cgroup, out->container);
	}
	free(cgroups);
	read_exe(pid, out->exe);
	out->native = same_namespace(pid, "pid") && same_namespace(pid, "user");
	return 0;
}
