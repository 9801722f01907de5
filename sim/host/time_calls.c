// SPDX-License-Identifier: MIT
#include "sim/host/time_calls.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sim/driver/files.h"
#include "sim/host/time/page.h"
#include "sim/host/time_slots.h"
#include "sim/host/timer_calls.h"

#define HIGH 1024 /* the library's eventfds have numbers below this, out of the program's way */
#define TRIES 256

bool time_reply(const struct sim *sim, const struct seccomp_notif *n, int64_t result)
{
	struct seccomp_notif_resp response = {
		.id = n->id, .val = result > 0 ? result : 0, .error = result < 0 ? (int)result : 0};

	return !ioctl(sim->listener, SECCOMP_IOCTL_NOTIF_SEND, &response);
}

/* Reads the link of the caller's @fd in /proc. Returns false if @fd is not open. */
static bool descriptor_link(const struct seccomp_notif *n, int fd, char *link, size_t size)
{
	char path[64];
	ssize_t length;

	snprintf(path, sizeof(path), "/proc/%u/fd/%d", n->pid, fd);
	length = readlink(path, link, size - 1);
	link[length > 0 ? length : 0] = '\0';
	return length >= 0;
}

/* If @lost is an eventfd, the caller has inherited it from its parent and it can be replaced. */
int time_address(const struct seccomp_notif *n, int lost)
{
	struct rlimit limit = {.rlim_cur = HIGH};
	char link[64];
	int top;

	if (lost >= 0 && (!descriptor_link(n, lost, link, sizeof(link)) ||
			  !strcmp(link, "anon_inode:[eventfd]")))
		return lost;
	prlimit((pid_t)n->pid, RLIMIT_NOFILE, NULL, &limit);
	top = limit.rlim_cur < HIGH ? (int)limit.rlim_cur : HIGH;
	for (int fd = top - 1; fd > 2 && fd > top - TRIES; fd--)
		if (!descriptor_link(n, fd, link, sizeof(link)))
			return fd;
	return 0;
}

int time_give(const struct sim *sim, const struct seccomp_notif *n, int fd, int address,
	      uint32_t flags)
{
	struct seccomp_notif_addfd add = {
		.id = n->id,
		.flags = address ? SECCOMP_ADDFD_FLAG_SETFD : 0,
		.srcfd = (uint32_t)fd,
		.newfd = (uint32_t)address,
		.newfd_flags = flags,
	};
	int r = ioctl(sim->listener, SECCOMP_IOCTL_NOTIF_ADDFD, &add);

	return r < 0 ? -errno : r;
}

/* TIME_IOC_EVENT: gives the calling thread the eventfd of its slot. */
static void give_event(struct sim *sim, const struct seccomp_notif *n)
{
	int event = time_slots_event(sim->time, (pid_t)n->pid), r = event;

	if (event >= 0) {
		r = time_give(sim, n, event, time_address(n, (int)n->data.args[2]), O_CLOEXEC);
		close(event);
	}
	time_reply(sim, n, r);
}

bool time_serve(struct sim *sim, const struct seccomp_notif *n)
{
	uint32_t command = (uint32_t)n->data.args[1];

	if (!sim->time || n->data.nr != SYS_ioctl)
		return false;
	if (command == TIME_IOC_SLOT)
		time_reply(sim, n, time_slots_of(sim->time, (pid_t)n->pid));
	else if (command == TIME_IOC_EVENT)
		give_event(sim, n);
	else if (command == TIME_IOC_TIMER)
		timer_serve(sim, n);
	else
		return false;
	return true;
}
