// SPDX-License-Identifier: MIT
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "preload/internal.h"

const struct kfdshim_agent *agent_loaded;

static const struct kfdshim_host *load_host;
static pthread_once_t load_once = PTHREAD_ONCE_INIT;

/* The one line this library ever says, and only if it was asked to. */
static void complain(const char *why)
{
	const char *level = getenv("KFDSHIM_LOG");
	char line[1024];
	int n;

	if (!level || (strcmp(level, "error") != 0 && strcmp(level, "info") != 0 &&
		       strcmp(level, "debug") != 0))
		return;
	n = snprintf(line, sizeof(line),
		     "kfdshim: nothing is scheduled in this process, it runs as without us: %s "
		     "(%s belongs beside libkfdshim.so, and needs liburcu)\n",
		     why, KFDSHIM_AGENT_FILE);
	if (n >= (int)sizeof(line)) {
		n = sizeof(line) - 1;
		line[n - 1] = '\n';
	}
	(void)!write(STDERR_FILENO, line, (size_t)n);
}

/*
 * The absolute path of this library. The linker's name for it is what
 * LD_PRELOAD said, which a program that changed its folder cannot open any
 * more; the kernel knows better.
 */
static int own_path(char *path, size_t size)
{
	unsigned long low, high, self = (unsigned long)(void *)own_path;
	char *line = NULL, *name;
	size_t room = 0;
	int err = -ENOENT;
	FILE *maps;

	maps = fopen("/proc/self/maps", "re");
	if (!maps)
		return -errno;
	while (getline(&line, &room, maps) > 0) {
		if (sscanf(line, "%lx-%lx", &low, &high) != 2 || self < low || self >= high)
			continue;
		name = strchr(line, '/');
		if (!name)
			break;
		name[strcspn(name, "\n")] = '\0';
		if (strlen(name) < size) {
			strcpy(path, name);
			err = 0;
		}
		break;
	}
	free(line);
	fclose(maps);
	return err;
}

static int agent_path(char *path, size_t size)
{
	Dl_info info;
	char *slash;

	if (dladdr((void *)agent_load, &info) && info.dli_fname && info.dli_fname[0] == '/') {
		if (strlen(info.dli_fname) >= size)
			return -ENAMETOOLONG;
		strcpy(path, info.dli_fname);
	} else if (own_path(path, size) != 0) {
		return -ENOENT;
	}
	slash = strrchr(path, '/');
	if ((size_t)(slash + 1 - path) + sizeof(KFDSHIM_AGENT_FILE) > size)
		return -ENAMETOOLONG;
	strcpy(slash + 1, KFDSHIM_AGENT_FILE);
	return 0;
}

static void load(void)
{
	const char *off = getenv("KFDSHIM_DISABLE");
	const struct kfdshim_agent *agent;
	kfdshim_agent_start_fn *start;
	char path[PATH_MAX];
	void *handle;

	if (off && strcmp(off, "1") == 0)
		return;
	if (agent_path(path, sizeof(path)) != 0) {
		complain("the folder of libkfdshim.so cannot be found");
		return;
	}
	handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!handle) {
		complain(dlerror());
		return;
	}
	start = (kfdshim_agent_start_fn *)dlsym(handle, KFDSHIM_AGENT_START);
	agent = start ? start(load_host) : NULL;
	if (!agent || agent->abi != KFDSHIM_AGENT_ABI) {
		complain("the agent is of another version or cannot work here");
		return;
	}
	__atomic_store_n(&agent_loaded, agent, __ATOMIC_RELEASE);
}

const struct kfdshim_agent *agent_load(const struct kfdshim_host *host)
{
	load_host = host;
	pthread_once(&load_once, load);
	return __atomic_load_n(&agent_loaded, __ATOMIC_ACQUIRE);
}
