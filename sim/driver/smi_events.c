// SPDX-License-Identifier: MIT
/*
 * Implements SMI_EVENTS. The caller gets an fd for one node. It reads lines of text (events) from
 * the fd, and writes a mask of the events that it selects to the fd (the driver's
 * kfd_smi_events.c).
 *
 * The caller gets one end of a stream socket that does not block: reading returns EAGAIN if there
 * is no event, polling works, and a line is never split. kfdsim reads a new mask only before it
 * sends an event, so the main loop does not poll the socket. kfdsim counts the bytes that the
 * caller has not read, and drops a line if the driver's buffer would have no room for it, as the
 * driver does.
 */
#include <errno.h>
#include <inttypes.h>
#include <linux/capability.h>
#include <linux/sockios.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include "sim/driver/files.h"
#include "sim/driver/memory.h"

#define FIFO_BYTES_6_12 1024u
#define FIFO_BYTES 8192u
#define LINES_MAX 2048u /* no line is shorter than 4 bytes */
#define ALL_PROCESSES (1ull << 63)

/* A line that was written to the socket and may not have been read yet. */
struct smi_line {
	uint32_t bytes;
	/* bytes that the line uses in the socket's buffer, as counted by the kernel */
	uint32_t held;
};

struct smi_client {
	LIST_ENTRY(smi_client) link;
	int fd;
	uint32_t node;
	pid_t pid;
	bool admin;
	uint64_t events;
	uint32_t bytes, held; /* of all lines */
	uint32_t first, n_lines;
	struct smi_line lines[LINES_MAX];
};

static void client_free(struct smi_client *client)
{
	LIST_REMOVE(client, link);
	close(client->fd);
	free(client);
}

/* Reads the masks that the caller has written; the last one counts. Returns false if the caller's
 * end of the socket is closed. */
static bool take_masks(struct smi_client *client)
{
	uint64_t mask;
	ssize_t n;

	while ((n = recv(client->fd, &mask, sizeof mask, MSG_DONTWAIT)) > 0)
		if (n == sizeof mask)
			client->events = mask;
	return n < 0 && errno == EAGAIN;
}

void smi_sweep(struct sim *sim)
{
	struct smi_client *client, *next;

	for (client = LIST_FIRST(&sim->smi_clients); client; client = next) {
		next = LIST_NEXT(client, link);
		if (!take_masks(client))
			client_free(client);
	}
}

/* Drops the records of lines that have been read. */
static void forget_read(struct smi_client *client)
{
	int held = 0;

	if (ioctl(client->fd, SIOCOUTQ, &held) || held < 0)
		return;
	while (client->n_lines && client->held > (uint32_t)held) {
		const struct smi_line *line = &client->lines[client->first];

		client->bytes -= line->bytes;
		client->held -= line->held;
		client->first = (client->first + 1) % LINES_MAX;
		client->n_lines--;
	}
}

/* Sends a line, or drops it if it would not fit into the driver's buffer. */
static void put_line(struct smi_client *client, const char *text, uint32_t bytes, uint32_t room)
{
	int held = 0;

	forget_read(client);
	if (client->bytes + bytes > room || client->n_lines == LINES_MAX)
		return;
	if (send(client->fd, text, bytes, MSG_DONTWAIT | MSG_NOSIGNAL) != (ssize_t)bytes ||
	    ioctl(client->fd, SIOCOUTQ, &held))
		return;
	client->lines[(client->first + client->n_lines++) % LINES_MAX] =
		(struct smi_line){bytes, (uint32_t)held - client->held};
	client->bytes += bytes;
	client->held = (uint32_t)held;
}

/* Returns true if the client is allowed to see an event of @pid. For events of other processes it
 * needs CAP_SYS_ADMIN and, in Linux 6.12, must also request them in its mask. */
static bool may_see(const struct sim *sim, const struct smi_client *client, pid_t pid)
{
	if (!pid || client->pid == pid || !rule_holds(sim, RULE_smi_others_need_admin))
		return true;
	return client->admin && (linux_7(sim) || client->events & ALL_PROCESSES);
}

static uint32_t fifo_bytes(const struct sim *sim)
{
	return like_linux_7(sim, RULE_smi_buffer_holds_1024_bytes,
			    RULE_smi_buffer_holds_more_than_1024_bytes)
		       ? FIFO_BYTES
		       : FIFO_BYTES_6_12;
}

/* Sends one line to all clients that have selected this event. @pid: the process that the event
 * concerns; 0: all processes. */
static void __attribute__((format(printf, 5, 6)))
event(struct sim *sim, uint32_t node, pid_t pid, enum kfdabi_smi_event number, const char *format,
      ...)
{
	uint32_t room = fifo_bytes(sim);
	struct smi_client *client;
	char text[160];
	va_list args;
	int n;

	if (LIST_EMPTY(&sim->smi_clients))
		return;
	n = snprintf(text, sizeof text, "%x ", (unsigned)number);
	va_start(args, format);
	n += vsnprintf(text + n, sizeof text - (size_t)n, format, args);
	va_end(args);
	smi_sweep(sim);
	LIST_FOREACH(client, &sim->smi_clients, link)
	{
		if (client->node == node && may_see(sim, client, pid) &&
		    (client->events >> (number - 1) & 1 || !rule_holds(sim, RULE_smi_mask_selects)))
			put_line(client, text, (uint32_t)n, room);
		sim->woken++;
	}
}

/* Returns the pid to report. After Linux 6.12 it is that in the process's own PID namespace. */
static pid_t reported_pid(const struct process *process)
{
	return linux_7(process->sim) ? process->ns_pid[process->ns_levels - 1]
				     : process->record->pid;
}

void smi_queue_eviction(struct process *process, uint32_t node, uint32_t trigger)
{
	event(process->sim, node, process->record->pid, KFDABI_SMI_QUEUE_EVICTION,
	      "%" PRIu64 " -%d %x %u\n", boot_clock_ns(process->sim), reported_pid(process),
	      process->sim->nodes[node].gpu_id, trigger);
}

void smi_queue_restore(struct process *process, uint32_t node, bool rescheduled)
{
	event(process->sim, node, process->record->pid, KFDABI_SMI_QUEUE_RESTORE,
	      "%" PRIu64 " -%d %x %c\n", boot_clock_ns(process->sim), reported_pid(process),
	      process->sim->nodes[node].gpu_id, rescheduled ? 'R' : '0');
}

void smi_vm_fault(struct process *process, uint32_t node)
{
	pid_t pid = process->record->pid;
	bool names = rule_holds(process->sim, RULE_smi_vmfault_names_the_process);

	event(process->sim, node, linux_7(process->sim) ? pid : 0, KFDABI_SMI_VMFAULT, "%x:%s\n",
	      names ? (unsigned)pid : process->pasid, process->record->comm);
}

void smi_process(struct process *process, uint32_t node, bool start)
{
	if (like_linux_7(process->sim, RULE_smi_process_start_is_not_told,
			 RULE_smi_process_start_at_acquire_vm))
		event(process->sim, node, process->record->pid,
		      start ? KFDABI_SMI_PROCESS_START : KFDABI_SMI_PROCESS_END, "%x %s\n",
		      (unsigned)process->record->pid, process->record->comm);
}

void smi_process_end(struct process *process)
{
	for (uint32_t i = 0; i < process->sim->nodes_n; i++)
		if (process->vm[i].file)
			smi_process(process, i,
				    !rule_holds(process->sim, RULE_smi_process_end_at_exit));
}

void smi_gpu_reset(struct sim *sim, uint32_t node, bool done, const char *cause)
{
	if (!done)
		sim->nodes[node].resets++;
	event(sim, node, 0, done ? KFDABI_SMI_GPU_POST_RESET : KFDABI_SMI_GPU_PRE_RESET, "%x %s\n",
	      sim->nodes[node].resets, cause);
}

int ioctl_smi_events(struct call *call)
{
	struct kfd_ioctl_smi_events_args *a = (void *)call->data;
	struct sim *sim = call->sim;
	int node = node_index(sim, a->gpuid), ends[2], most = 1 << 20, fd;
	struct smi_client *client;

	smi_sweep(sim);
	if (node < 0 && !rule_holds(sim, RULE_smi_unknown_gpu_is_einval))
		node = 0;
	if (node < 0)
		return -EINVAL;
	client = calloc(1, sizeof *client);
	if (!client)
		return -ENOMEM;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends)) {
		free(client);
		return -errno;
	}
	if (!rule_holds(sim, RULE_smi_reading_nothing_is_eagain))
		shutdown(ends[0], SHUT_WR);
	setsockopt(ends[0], SOL_SOCKET, SO_SNDBUF, &most, sizeof most);
	client->fd = ends[0];
	client->node = (uint32_t)node;
	client->pid = call->process->record->pid;
	client->admin = caller_capable(call, 1ull << CAP_SYS_ADMIN);
	LIST_INSERT_HEAD(&sim->smi_clients, client, link);
	fd = call_add_fd(call, ends[1], 0);
	close(ends[1]);
	if (fd < 0) {
		client_free(client);
		return fd;
	}
	a->anon_fd = (uint32_t)fd;
	return 0;
}

void smi_stop(struct sim *sim)
{
	while (!LIST_EMPTY(&sim->smi_clients))
		client_free(LIST_FIRST(&sim->smi_clients));
}
