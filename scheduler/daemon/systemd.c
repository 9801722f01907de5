// SPDX-License-Identifier: MIT
#include "scheduler/daemon/systemd.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <systemd/sd-daemon.h>
#include <time.h>
#include <unistd.h>

#include "common/clock.h"

#define US 1000u

/* the state that was last reported to systemd */
static bool ready, notified_well;
static pid_t notified_worker;
static uint64_t next_ping_ns;

static bool is_loopback(int fd)
{
	struct sockaddr_storage address;
	socklen_t size = sizeof(address);

	if (getsockname(fd, (struct sockaddr *)&address, &size) != 0)
		return false;
	if (address.ss_family == AF_INET)
		return ntohl(((struct sockaddr_in *)&address)->sin_addr.s_addr) >> 24 ==
		       IN_LOOPBACKNET;
	return IN6_IS_ADDR_LOOPBACK(&((struct sockaddr_in6 *)&address)->sin6_addr);
}

/* Checks one socket that systemd has passed, and stores it in the field for its type. Returns 0, or
 * a negative errno with a sentence in `problem`. */
static int take(int fd, struct service_sockets *out, char *problem, size_t size)
{
	int *slot = NULL;

	if (sd_is_socket_unix(fd, SOCK_SEQPACKET, 1, NULL, 0) > 0)
		slot = &out->daemon;
	else if (sd_is_socket_inet(fd, AF_UNSPEC, SOCK_STREAM, 1, 0) > 0)
		slot = &out->metrics;
	if (!slot) {
		snprintf(problem, size,
			 "fd %d of LISTEN_FDS is neither a listening SOCK_SEQPACKET socket "
			 "(ListenSequentialPacket=) nor a listening TCP socket for metrics",
			 fd);
		return -EINVAL;
	}
	if (slot == &out->metrics && !is_loopback(fd)) {
		snprintf(problem, size,
			 "fd %d of LISTEN_FDS: metrics are served on loopback only, such as "
			 "ListenStream=127.0.0.1:9817",
			 fd);
		return -EINVAL;
	}
	if (*slot >= 0) {
		snprintf(problem, size, "LISTEN_FDS has two sockets of the same type: %d and %d",
			 *slot, fd);
		return -EINVAL;
	}
	*slot = fd;
	return fcntl(fd, F_SETFL, O_NONBLOCK) == 0 ? 0 : -errno;
}

int service_sockets(struct service_sockets *out, char *problem, size_t size)
{
	int count = sd_listen_fds(1);
	int error = count < 0 ? count : 0;

	*out = (struct service_sockets){-1, -1};
	if (error)
		snprintf(problem, size, "LISTEN_FDS cannot be used: %s", strerror(-error));
	for (int i = 0; i < count && !error; i++)
		error = take(SD_LISTEN_FDS_START + i, out, problem, size);
	return error;
}

static void notify_state(pid_t worker, bool well)
{
	if (!well)
		sd_notify(0, "STATUS=The worker has ended or hangs; restarting it.");
	else
		sd_notifyf(0, "STATUS=Worker %d is running.", (int)worker);
}

void service_check(pid_t worker, bool well, uint64_t now)
{
	uint64_t every_us;

	if (!ready && !well)
		return;
	if (!ready || well != notified_well || (well && worker != notified_worker))
		notify_state(worker, well);
	notified_well = well;
	notified_worker = worker;
	if (!ready)
		sd_notify(0, "READY=1");
	ready = true;
	if (!well || now < next_ping_ns || sd_watchdog_enabled(0, &every_us) <= 0)
		return;
	sd_notify(0, "WATCHDOG=1");
	next_ping_ns = now + every_us * US / 3;
}

void service_stopping(void)
{
	sd_notify(0, "STOPPING=1\nSTATUS=Resuming all processes.");
}

void service_reloading(void)
{
	sd_notifyf(0, "RELOADING=1\nMONOTONIC_USEC=%llu", (unsigned long long)clock_ns() / US);
}

void service_reloaded(void)
{
	sd_notify(0, "READY=1");
}

bool service_has_journal(void)
{
	const char *stream = getenv("JOURNAL_STREAM");
	unsigned long long device, inode;
	struct stat st;

	return stream && sscanf(stream, "%llu:%llu", &device, &inode) == 2 &&
	       fstat(STDERR_FILENO, &st) == 0 && st.st_dev == device && st.st_ino == inode;
}
