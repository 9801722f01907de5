// SPDX-License-Identifier: MIT
#include "scheduler/daemon/config/config.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/own_names.h"
#include "scheduler/daemon/log.h"

#define READ_MAX_NS UINT64_C(10000000000)

/* ---- Landlock ---- */

/* The Landlock interface as of its version 6 (Linux 6.12), declared here because the system headers
 * may be older than the kernel. */
#ifndef SYS_landlock_create_ruleset
#define SYS_landlock_create_ruleset 444
#define SYS_landlock_restrict_self 446
#endif
#define QUERY_VERSION 1u

struct ruleset {
	uint64_t files, net, scopes;
};

enum {
	FILES_EXECUTE = 1u << 0,
	FILES_WRITE = 1u << 1,
	FILES_FIRST = 0x1ff0, /* rights to remove files, and to create files of each type */
	FILES_REFER = 1u << 13,
	FILES_TRUNCATE = 1u << 14,
	FILES_IOCTL = 1u << 15,
	NET_TCP = 3,	/* bind, connect */
	SCOPES_ALL = 3, /* abstract Unix sockets, signals */
};

int landlock_version(void)
{
	long version = syscall(SYS_landlock_create_ruleset, NULL, 0, QUERY_VERSION);

	return version > 0 ? (int)version : 0;
}

/* Fills *out with all restrictions that Landlock version `version` supports, except those on
 * reading; the kernel rejects a ruleset with unknown bits. Returns the size of the struct in that
 * version. */
static size_t all_but_reading(int version, struct ruleset *out)
{
	*out = (struct ruleset){.files = FILES_EXECUTE | FILES_WRITE | FILES_FIRST};
	if (version >= 2)
		out->files |= FILES_REFER;
	if (version >= 3)
		out->files |= FILES_TRUNCATE;
	if (version >= 4)
		out->net = NET_TCP;
	if (version >= 5)
		out->files |= FILES_IOCTL;
	if (version >= 6)
		out->scopes = SCOPES_ALL;
	return version >= 6   ? sizeof(*out)
	       : version >= 4 ? offsetof(struct ruleset, scopes)
			      : offsetof(struct ruleset, net);
}

int landlock_read_only(void)
{
	const int version = landlock_version();
	struct ruleset ruleset;
	size_t size;
	int fd, error;

	if (!version)
		return -ENOSYS;
	size = all_but_reading(version, &ruleset);
	fd = (int)syscall(SYS_landlock_create_ruleset, &ruleset, size, 0);
	if (fd < 0)
		return -errno;
	/* The ruleset has no rules that allow anything, so all access that it names is
	 * forbidden. */
	error = syscall(SYS_landlock_restrict_self, fd, 0) == 0 ? 0 : -errno;
	close(fd);
	return error;
}

/* ---- the configuration in force ---- */

/* Memory that the watchdog, the worker and the process that reads the file share. */
struct shared {
	/* Number of the configuration in force, which is config[number % 2]. The other element
	 * is written only before the next number is published. */
	uint32_t number;
	struct config config[2];

	/* written by the process that reads the file */
	int error;
	char problem[768];
	struct config read;
};

struct reload {
	struct shared *shared;
	char *path;
	pid_t reader; /* process id; 0: not running */
	bool killed, again;
	uint64_t since_ns;
};

struct reload *reload_create(const char *path, const struct config *config)
{
	struct reload *reload = calloc(1, sizeof(*reload));

	if (!reload)
		return NULL;
	reload->shared = mmap(NULL, sizeof(*reload->shared), PROT_READ | PROT_WRITE,
			      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (reload->shared == MAP_FAILED) {
		free(reload);
		return NULL;
	}
	reload->shared->number = 1;
	reload->shared->config[1] = *config;
	reload->path = path ? strdup(path) : NULL;
	return reload;
}

/* Restricts the process that reads the file by Landlock, if the kernel has it. */
static void confine(void)
{
	int error = landlock_read_only();

	if (error && error != -ENOSYS)
		log_error("the configuration is read without Landlock: %s", strerror(-error));
}

static _Noreturn void read_file(struct shared *shared, const char *path)
{
	sigset_t none;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NAME, NAME_CONFIG);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	confine();
	shared->error = config_load(path, &shared->read, shared->problem, sizeof(shared->problem));
	owners_read(OWNERS_FILE, &shared->read.owners);
	_exit(0);
}

void reload_begin(struct reload *reload, uint64_t now)
{
	pid_t pid;

	if (!reload->path) {
		log_info("SIGHUP ignored: the daemon was started without --config");
		return;
	}
	if (reload->reader) {
		reload->again = true;
		return;
	}
	reload->again = reload->killed = false;
	reload->since_ns = now;
	/* result of the read if the process ends before it has stored another one */
	reload->shared->error = -EIO;
	snprintf(reload->shared->problem, sizeof(reload->shared->problem), "%s: reading it failed",
		 reload->path);
	pid = fork();
	if (pid == 0)
		read_file(reload->shared, reload->path);
	if (pid < 0)
		log_info("%s: cannot start the process that reads it: %s; the old configuration "
			 "stays in force",
			 reload->path, strerror(errno));
	else
		reload->reader = pid;
}

static void publish(struct shared *shared)
{
	uint32_t number = shared->number + 1;

	if (number == 0)
		number = 2; /* 0 means no configuration; 2 selects the same element as 0 would */
	shared->config[number % 2] = shared->read;
	__atomic_store_n(&shared->number, number, __ATOMIC_SEQ_CST);
}

/* Returns true if the process that reads the file has ended. Kills it after READ_MAX_NS. */
static bool has_ended(struct reload *reload, uint64_t now)
{
	if (waitpid(reload->reader, NULL, WNOHANG) != 0)
		return true;
	if (now > reload->since_ns + READ_MAX_NS && !reload->killed) {
		snprintf(reload->shared->problem, sizeof(reload->shared->problem),
			 "%s: reading it takes longer than 10 s (does the name service for "
			 "users and groups respond?)",
			 reload->path);
		kill(reload->reader, SIGKILL);
		reload->killed = true;
	}
	return false;
}

bool reload_busy(const struct reload *reload)
{
	return reload->reader != 0;
}

bool reload_check(struct reload *reload, uint64_t now)
{
	struct shared *shared = reload->shared;
	bool good;

	if (!reload->reader || !has_ended(reload, now))
		return false;
	reload->reader = 0;
	good = shared->error == 0;
	if (good) {
		publish(shared);
		if (shared->problem[0])
			log_error("%s", shared->problem);
		log_info("%s: reloaded, in force from now on", reload->path);
	} else {
		log_info("%s; the old configuration stays in force", shared->problem);
	}
	if (reload->again)
		reload_begin(reload, now);
	return good;
}

bool reload_take(const struct reload *reload, uint32_t *number, struct config *out)
{
	const struct shared *shared = reload->shared;
	uint32_t at = __atomic_load_n(&shared->number, __ATOMIC_SEQ_CST), before;

	if (at == *number)
		return false;
	do {
		before = at;
		*out = shared->config[before % 2];
		__atomic_thread_fence(__ATOMIC_SEQ_CST);
		at = __atomic_load_n(&shared->number, __ATOMIC_SEQ_CST);
	} while (at != before);
	*number = at;
	return true;
}
