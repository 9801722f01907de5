// SPDX-License-Identifier: MIT
#include "shim/kfd_context.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "shim/config.h"
#include "shim/descriptor.h"
#include "shim/thread.h"

/* Period of the scans for contexts that have ended (contexts_step()). */
#define CHECK_NS 1000000000u
/* Number of scans in a row that find no file descriptor of a context before it counts as ended. One
 * is not enough, because a file descriptor may move to a lower number (dup) during the scan. */
#define MISSES 2u

enum state {
	FREE,
	NEW, /* the number is taken, the file is not marked yet */
	LIVE,
};

/* State of each secondary context; the index is the context number, and entry 0 is not used. */
static struct {
	enum state state; /* atomic */
	dev_t dev;	  /* device and inode of the context's file, constant while LIVE */
	ino_t ino;
	unsigned missed; /* scans in a row that found no fd of it; sampler's thread only */
} contexts[CONTEXT_UNSEEN];
_Static_assert(CONTEXT_UNSEEN < DESCRIPTOR_MARK, "the mark of unseen contexts is distinct");
static bool any;    /* atomic: there has been a secondary context */
static bool logged; /* atomic: the message about too many contexts was logged */
/* Time of the next scan; sampler's thread only. */
static uint64_t next_ns;

/* Reserves and returns the lowest free context number; returns CONTEXT_UNSEEN if there is none. */
static uint32_t take_number(void)
{
	uint32_t number = 1;
	enum state expected = FREE;

	while (number < CONTEXT_UNSEEN &&
	       !__atomic_compare_exchange_n(&contexts[number].state, &expected, NEW, false,
					    __ATOMIC_SEQ_CST, __ATOMIC_RELAXED)) {
		expected = FREE;
		number++;
	}
	return number;
}

static void set_state(uint32_t number, enum state state)
{
	__atomic_store_n(&contexts[number].state, state, __ATOMIC_RELEASE);
}

/*
 * Stores the context number in the open file as the signal that the file would send on input
 * (F_SETSIG). The driver never sends this signal, so the number has no other effect. It belongs to
 * the open file: a dup() of the descriptor has it, too, and it ends with the file. The highest
 * signal number, 64, marks files of the agent itself (descriptor.h).
 */
void context_new(int fd)
{
	uint32_t number = take_number();
	int saved = errno, err;
	struct stat st = {0};

	__atomic_store_n(&any, true, __ATOMIC_SEQ_CST);
	if (number == CONTEXT_UNSEEN && !__atomic_exchange_n(&logged, true, __ATOMIC_RELAXED))
		kfdshim_log(
			LOG_ERROR,
			"this process has %u KFD contexts, the limit: queues of further contexts are "
			"not observed; use fewer contexts at a time",
			CONTEXT_UNSEEN - 1);
	err = fstat(fd, &st) == 0 && fcntl(fd, F_SETSIG, (int)number) == 0 ? 0 : errno;
	if (err)
		kfdshim_log(
			LOG_ERROR,
			"a secondary KFD context is treated as the primary one, because its fd cannot "
			"be marked (%s); allow fcntl in the sandbox",
			strerror(err));
	if (number < CONTEXT_UNSEEN) {
		contexts[number].dev = st.st_dev;
		contexts[number].ino = st.st_ino;
		contexts[number].missed = 0;
		set_state(number, err ? FREE : LIVE);
	}
	/* Start a scan, which frees the numbers of contexts that have ended. Without queues this is
	 * the only time when one runs. */
	sampler_wake();
	errno = saved;
}

uint32_t context_of_fd(int fd)
{
	int saved = errno, number;

	if (!__atomic_load_n(&any, __ATOMIC_RELAXED))
		return CONTEXT_PRIMARY;
	number = fcntl(fd, F_GETSIG);
	errno = saved;
	return number > 0 ? (uint32_t)number : CONTEXT_PRIMARY;
}

/* Sets @found for each context of @known that a file descriptor of this process belongs to. Returns
 * false if the directory cannot be read. */
static bool read_descriptors(const bool known[CONTEXT_UNSEEN], bool found[CONTEXT_UNSEEN])
{
	struct dirent *entry;
	struct stat st;
	int fd, number;
	DIR *dir;

	/* Not /proc/self, which is the first thread: it may have ended. */
	dir = opendir("/proc/thread-self/fd");
	if (!dir)
		return false;
	while ((entry = readdir(dir))) {
		if (entry->d_name[0] < '0' || entry->d_name[0] > '9')
			continue;
		fd = atoi(entry->d_name);
		number = fcntl(fd, F_GETSIG);
		/* F_SETSIG's number marks a file with its context. But the program may use F_SETSIG
		 * for its real purpose, so device and inode must match, too. */
		if (number > 0 && number < (int)CONTEXT_UNSEEN && known[number] &&
		    fstatat(fd, "", &st, AT_EMPTY_PATH) == 0 && st.st_dev == contexts[number].dev &&
		    st.st_ino == contexts[number].ino)
			found[number] = true;
	}
	closedir(dir);
	return true;
}

/* Scans the open files, and forgets the contexts that have ended. A context that was made during
 * the scan does not count as missed. Returns true if any context is left. */
static bool forget_ended(bool (*ended)(uint32_t context))
{
	bool before[CONTEXT_UNSEEN] = {false}, found[CONTEXT_UNSEEN] = {false}, left = false;

	for (uint32_t i = 1; i < CONTEXT_UNSEEN; i++)
		before[i] = __atomic_load_n(&contexts[i].state, __ATOMIC_ACQUIRE) == LIVE;
	if (!read_descriptors(before, found))
		return true;
	for (uint32_t i = 1; i < CONTEXT_UNSEEN; i++) {
		if (before[i])
			contexts[i].missed = found[i] ? 0 : contexts[i].missed + 1;
		if (before[i] && contexts[i].missed >= MISSES && ended(i))
			set_state(i, FREE);
		left |= __atomic_load_n(&contexts[i].state, __ATOMIC_ACQUIRE) != FREE;
	}
	return left;
}

uint64_t contexts_step(uint64_t now_ns, bool (*ended)(uint32_t context))
{
	bool left = true;

	if (!__atomic_load_n(&any, __ATOMIC_RELAXED))
		return UINT64_MAX;
	if (now_ns >= next_ns) {
		left = forget_ended(ended);
		next_ns = now_ns + CHECK_NS;
	}
	return left ? next_ns : UINT64_MAX;
}

void contexts_forget(void)
{
	memset(contexts, 0, sizeof(contexts));
	any = logged = false;
	next_ns = 0;
}
