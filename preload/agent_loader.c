// SPDX-License-Identifier: MIT
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/membarrier.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/single_threaded.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/stderr.h"
#include "common/thread_cancel.h"
#include "preload/preload_priv.h"

/* load_error() tests whether so much address space is free; the agent needs less */
#define AGENT_BYTES (1u << 20)

const struct kfdshim_agent *agent_loaded;

static const struct kfdshim_preload_iface *load_host;
static pthread_once_t load_once = PTHREAD_ONCE_INIT;

/* Prints a line on stderr, if KFDSHIM_LOG is set to any level but off. Keeps errno. */
__attribute__((format(printf, 1, 2))) static void complain(const char *format, ...)
{
	const char *level = getenv("KFDSHIM_LOG");
	char line[1024] = "kfdshim: ";
	int saved = errno;
	va_list list;
	size_t n;

	if (!level || (strcmp(level, "error") != 0 && strcmp(level, "info") != 0 &&
		       strcmp(level, "debug") != 0))
		return;
	n = strlen(line);
	va_start(list, format);
	vsnprintf(line + n, sizeof(line) - n - 1, format, list);
	va_end(list);
	strcat(line, "\n");
	stderr_line(line, strlen(line));
	errno = saved;
}

/* Prints that the agent is not loaded, why (@why), and how to fix that (@remedy). */
static void cannot(const char *why, const char *remedy)
{
	complain("the work of this process is not scheduled, it runs as without libkfdshim.so: %s: "
		 "%s",
		 why, remedy);
}

/* A part of the dynamic linker's error message if the thread-local variables of liburcu, and of all
 * other libraries loaded at run time, need more space than the linker has reserved. */
#define NO_STATIC_TLS "static TLS block"

static const char *remedy_of(int err)
{
	switch (err) {
	case EMFILE:
	case ENFILE:
		return "raise the limit of open files";
	case ENOMEM:
		return "raise the limit of memory";
	default:
		return KFDSHIM_AGENT_FILE
			" and liburcu-bp.so.8 must be installed beside libkfdshim.so";
	}
}

/*
 * Finds the absolute path of this library in /proc/thread-self/maps. The dynamic linker has only
 * the name from LD_PRELOAD, and a relative name is wrong after the program has changed its working
 * directory. Returns 0 or a negative errno.
 */
static int own_path(char *path, size_t size)
{
	unsigned long low, high, self = (unsigned long)(void *)own_path;
	char *line = NULL, *name;
	size_t room = 0;
	int err = -ENOENT;
	FILE *maps;

	maps = fopen("/proc/thread-self/maps", "re");
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

/* Writes the path of the agent's file, which is beside this library. Returns 0 or a negative
 * errno. */
static int agent_path(char *path, size_t size)
{
	Dl_info info;
	char *slash;
	int err;

	if (dladdr((void *)agent_load, &info) && info.dli_fname && info.dli_fname[0] == '/') {
		if (strlen(info.dli_fname) >= size)
			return -ENAMETOOLONG;
		strcpy(path, info.dli_fname);
	} else {
		err = own_path(path, size);
		if (err)
			return err;
	}
	slash = strrchr(path, '/');
	if ((size_t)(slash + 1 - path) + sizeof(KFDSHIM_AGENT_FILE) > size)
		return -ENAMETOOLONG;
	strcpy(slash + 1, KFDSHIM_AGENT_FILE);
	return 0;
}

/* Finds out why dlopen failed, because dlopen returns no errno: tries the operations that dlopen
 * needs. Returns the errno of the first one that fails, or 0 if none does. */
static int load_error(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	void *room;

	if (fd < 0)
		return errno;
	close(fd);
	room = mmap(NULL, AGENT_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (room == MAP_FAILED)
		return errno;
	munmap(room, AGENT_BYTES);
	return 0;
}

/* A key of thread-specific data that this library reserves when it is loaded, and frees for liburcu
 * before liburcu is loaded. Its number is low if this library is loaded at the program's start. */
static pthread_key_t urcu_key;
static bool has_urcu_key;

/*
 * Registers the process for membarrier(2) if it has only one thread, and reserves urcu_key. liburcu
 * registers the process when it is loaded, in hsa_init. If the process has several threads then,
 * that takes the kernel 8 to 16 ms, but a second registration takes only microseconds. If there are
 * several threads already, this function leaves the registration to liburcu, because only processes
 * that use a GPU load liburcu.
 */
void urcu_prepare(void)
{
	int saved = errno;

	if (__libc_single_threaded)
		syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0);
	has_urcu_key = pthread_key_create(&urcu_key, NULL) == 0;
	errno = saved;
}

/*
 * Returns true if liburcu can start, and frees the reserved key for it. To be checked before
 * liburcu is loaded, because liburcu ends the process if it finds no free key, or if membarrier(2)
 * exists and fails. The value of a key with a low number, such as the reserved one, needs no
 * memory. So a thread can register with liburcu in a signal handler, too.
 */
static bool urcu_can_start(void)
{
	long commands = syscall(SYS_membarrier, MEMBARRIER_CMD_QUERY, 0, 0);

	if (!has_urcu_key) {
		cannot("no key of thread-specific data is left", "use fewer libraries");
		return false;
	}
	if (commands >= 0 && (commands & MEMBARRIER_CMD_PRIVATE_EXPEDITED) &&
	    syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) != 0) {
		cannot("membarrier(2) refuses to register the process",
		       "allow all of its commands in the seccomp filter");
		return false;
	}
	pthread_key_delete(urcu_key);
	return true;
}

/* Loads the agent. Called once only, because an agent that is loaded after the first queues have
 * been created would not know them. */
static void load(void)
{
	const char *off = getenv("KFDSHIM_DISABLE"), *why;
	const struct kfdshim_agent *agent;
	kfdshim_agent_start_fn *start;
	char path[PATH_MAX];
	void *handle;
	int err;

	next_resolve(); /* needed also without the agent, because the hooks still forward */
	if (off && strcmp(off, "1") == 0)
		return;
	if (off && *off && strcmp(off, "0") != 0)
		complain("KFDSHIM_DISABLE=%s is ignored: only 1 switches libkfdshim.so off", off);
	err = agent_path(path, sizeof(path));
	if (err) {
		cannot("the directory of libkfdshim.so cannot be found", remedy_of(-err));
		return;
	}
	if (!urcu_can_start())
		return;
	handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!handle) {
		why = dlerror();
		cannot(why, strstr(why, NO_STATIC_TLS)
				    ? "set GLIBC_TUNABLES=glibc.rtld.optional_static_tls=4096"
				    : remedy_of(load_error(path)));
		return;
	}
	start = (kfdshim_agent_start_fn *)dlsym(handle, KFDSHIM_AGENT_START);
	agent = start ? start(load_host) : NULL;
	if (!agent || agent->abi != KFDSHIM_AGENT_ABI) {
		cannot(path, "it is of another version or cannot work here; install both libraries "
			     "from one build");
		return;
	}
	__atomic_store_n(&agent_loaded, agent, __ATOMIC_SEQ_CST);
	agent->app_settings_changed(); /* passes on settings made until now (request_api.c) */
}

const struct kfdshim_agent *agent_load(const struct kfdshim_preload_iface *host)
{
	NOT_CANCELLED;

	load_host = host;
	pthread_once(&load_once, load);
	(void)dlerror(); /* drop dlerror() messages of this library; see next_symbol.c */
	return __atomic_load_n(&agent_loaded, __ATOMIC_ACQUIRE);
}
