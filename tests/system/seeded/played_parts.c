// SPDX-License-Identifier: MIT
/*
 * Stubs for the files of daemon, shim and kfd that do not take part in this test: reads of /proc,
 * sysfs and ptrace, privileges, replies to commands, metrics, peers.
 */
#include <stdarg.h>
#include <string.h>

#include "kfd/ptrace.h"
#include "kfd/sysfs.h"
#include "kfd/topology.h"
#include "kfd/uapi.h"
#include "scheduler/daemon/memory.h"
#include "scheduler/daemon/metrics/metrics.h"
#include "scheduler/daemon/operator/query.h"
#include "scheduler/daemon/privileges.h"
#include "scheduler/daemon/recording/record.h"
#include "shim/links/peers.h"
#include "shim/topology.h"
#include "tests/system/seeded/driver.h"
#include "tests/system/seeded/files.h"

/* ---- the log ---- */

static void note_line(const char *format, va_list list)
{
	char line[256];

	vsnprintf(line, sizeof(line), format, list);
	note("%s", line);
}

void log_line(enum log_priority priority, const char *format, ...)
{
	va_list list;

	(void)priority;
	va_start(list, format);
	note_line(format, list);
	va_end(list);
}

void log_within(struct log_share *share, enum log_budget of, const char *format, ...)
{
	va_list list;

	(void)share, (void)of;
	va_start(list, format);
	note_line(format, list);
	va_end(list);
}

void log_set_verbose(bool wanted)
{
	(void)wanted;
}

/* ---- the recording: none ---- */

int record_pipe(void)
{
	return -1;
}

uint64_t record_start_ns(void)
{
	return 0;
}

/* ---- facts about other processes ---- */

static int facts(pid_t pid, struct peer_facts *out)
{
	const struct process *process = process_of(pid);

	if (!process || process->gone)
		return -ESRCH;
	*out = (struct peer_facts){.own_pid = pid,
				   .uid = process->uid,
				   .started = (uint64_t)pid,
				   .pid_ns = process->pid_ns,
				   .user_ns = process->user_ns,
				   .image = process->program};
	return 0;
}

int reader_facts(pid_t pid, struct peer_facts *out)
{
	HARNESS;

	fiber_yield();
	return facts(pid, out);
}

int reader_subject(pid_t pid, struct proc_attrs *out)
{
	fiber_yield();
	memset(out, 0, sizeof(*out));
	out->pid = pid;
	out->native = true;
	return 0;
}

pid_t reader_number(pid_t of, pid_t pid)
{
	(void)of;
	return pid;
}

int reader_target(pid_t pid, struct peer_facts *out, char *problem, size_t size)
{
	snprintf(problem, size, "not played");
	return facts(pid, out) ? -ESRCH : -EEXIST;
}

int reader_has_shim(pid_t pid)
{
	(void)pid;
	return true;
}

int reader_destroys(pid_t pid, uint64_t *took_ns)
{
	(void)pid;
	*took_ns = 0;
	return false;
}

int reader_right_has_come(pid_t pid)
{
	(void)pid;
	return false;
}

/* The stub replies at once. */
void reader_receive(void)
{
}

void reader_step(uint64_t now)
{
	(void)now;
}

uint64_t reader_next(void)
{
	return UINT64_MAX;
}

uint64_t reader_replied(void)
{
	return 0;
}

void reader_begin(uint64_t asker)
{
	(void)asker;
}

bool reader_end(void)
{
	return false;
}

bool reader_waits(void)
{
	return false;
}

void reader_forget(uint64_t asker)
{
	(void)asker;
}

void reader_use(int socket, struct reader_state *state, int wake_fd, const struct owners *owners)
{
	(void)socket;
	(void)state;
	(void)wake_fd;
	(void)owners;
}

static int open_peer(struct process *process, struct socket_peer *out)
{
	struct peer_facts its;
	struct file *pidfd;
	int error = facts(process->pid, &its);

	if (error)
		return error;
	pidfd = file_new(PIDFD);
	pidfd->whose = process;
	*out = (struct socket_peer){.pid = process->pid,
				    .own_pid = its.own_pid,
				    .pidfd = file_open(fiber_process(), pidfd),
				    .started = its.started,
				    .uid = its.uid,
				    .pid_ns = its.pid_ns,
				    .user_ns = its.user_ns,
				    .image = its.image};
	return 0;
}

int peer_identify(int socket, uint64_t accepted_ns, peer_reader *read, struct socket_peer *out)
{
	HARNESS;
	const struct file *file = file_of(socket);

	(void)accepted_ns;
	(void)read;
	fiber_yield();
	return file ? open_peer(file->whose, out) : -EBADF;
}

int peer_of(pid_t pid, int pidfd, const struct peer_facts *its, struct socket_peer *out)
{
	(void)pid;
	(void)pidfd;
	(void)its;
	(void)out;
	return -ESRCH; /* not simulated, as reader_target() */
}

bool peer_ended(const struct socket_peer *peer)
{
	return process_of(peer->pid)->gone;
}

int peer_replaced(const struct socket_peer *peer, peer_reader *read)
{
	struct peer_facts its;

	if (read(peer->pid, &its))
		return 0;
	return its.image != peer->image;
}

uint64_t peer_started(pid_t pid)
{
	struct peer_facts its;

	fiber_yield();
	return facts(pid, &its) ? 0 : its.started;
}

bool peer_in_group(const struct socket_peer *peer, gid_t group)
{
	(void)peer;
	(void)group;
	return false;
}

void peer_own_namespaces(uint64_t *pid_ns, uint64_t *user_ns)
{
	*pid_ns = *user_ns = 1;
}

void peer_name(pid_t pid, char name[static 16])
{
	HARNESS;

	memcpy(name, process_of(pid)->name, 16);
}

/* ---- the driver's files, and ptrace ---- */

int kfd_device_open(struct reason *reason)
{
	HARNESS;

	(void)reason;
	fiber_yield();
	return file_open(fiber_process(), file_new(DEVICE));
}

size_t topology_gpu_ids(uint32_t *gpu_ids, size_t max)
{
	size_t n = max < DRIVER_NODES ? max : DRIVER_NODES;

	for (size_t i = 0; i < n; i++)
		gpu_ids[i] = DRIVER_NODE + (uint32_t)i;
	return n;
}

uint32_t topology_capability(uint32_t gpu_id)
{
	(void)gpu_id;
	return KFDABI_CAP_DEBUG | KFDABI_CAP_FIRMWARE_DEBUG;
}

bool topology_saves_waves(void)
{
	return true;
}

/* The daemon's own check. */
bool cwsr_is_missing(char why[static CWSR_WHY])
{
	why[0] = '\0';
	return false;
}

uint32_t render_context(int fd, uint32_t *gpu_id)
{
	(void)fd;
	*gpu_id = 0;
	return 0;
}

void topology_forget(void)
{
}

bool sysfs_is_compute(const struct sysfs_queue *queue)
{
	(void)queue;
	return false;
}

uint64_t sysfs_dir(pid_t pid)
{
	(void)pid;
	return 1;
}

size_t sysfs_processes(pid_t *out, size_t max)
{
	(void)out;
	(void)max;
	return 0;
}

int sysfs_queues(pid_t pid, struct sysfs_queue *out, size_t max)
{
	(void)pid;
	(void)out;
	(void)max;
	return -ENOENT;
}

const char *sysfs_type_name(const struct sysfs_queue *queue)
{
	(void)queue;
	return "compute";
}

int tracer_seize(pid_t pid, struct reason *reason)
{
	HARNESS;
	int error;

	fiber_yield();
	error = driver_seize(pid);
	if (error)
		reason_set(reason, REASON_trace_failed, pid, error, NULL);
	return error;
}

int tracer_detach(pid_t pid)
{
	HARNESS;

	fiber_yield();
	return driver_let_go(pid);
}

bool tracer_is_free(pid_t pid)
{
	(void)pid;
	return true;
}

int tracer_serve(pid_t pid)
{
	HARNESS;

	fiber_yield();
	return driver_traced_ended(pid) ? -ESRCH : 0;
}

bool tracer_pending(pid_t pid)
{
	HARNESS;

	return driver_traced_ended(pid);
}

/* Never called: there are too few targets (executor_run.c). */
bool tracer_any_pending(void)
{
	return true;
}

/* ---- privileges ---- */

void privilege_urgent(bool wanted)
{
	(void)wanted;
}

void privilege_drop(enum filter_role role, uint64_t *refused)
{
	(void)role;
	(void)refused;
}

void memory_lock(void)
{
}

void memory_lock_new(void)
{
}

void filter_report(void)
{
}

/* ---- commands and metrics ---- */

void query_begin(struct worker *worker, struct client *client, int pid)
{
	(void)worker;
	(void)client;
	(void)pid;
}

void query_end(struct worker *worker, struct client *client)
{
	(void)worker;
	(void)client;
}

uint64_t query_next(void)
{
	return UINT64_MAX;
}

void query_step(struct worker *worker, uint64_t now)
{
	(void)worker;
	(void)now;
}

void metrics_settle(struct worker *worker, struct client *client, uint64_t now)
{
	(void)worker;
	(void)client;
	(void)now;
}

void metrics_settle_work(struct worker *worker, struct client *client, uint64_t now)
{
	(void)worker;
	(void)client;
	(void)now;
}

void metrics_acted(struct worker *worker, struct client *client, bool suspend, bool failed)
{
	(void)worker;
	(void)client;
	(void)suspend;
	(void)failed;
}

void metrics_latency(struct worker *worker, struct client *client, enum metrics_latency latency,
		     uint64_t ns)
{
	(void)worker;
	(void)client;
	(void)latency;
	(void)ns;
}

int played_protocol_send_text(int fd, const struct protocol_welcome *head, const char *text);
int played_protocol_send_text(int fd, const struct protocol_welcome *head, const char *text)
{
	(void)fd;
	(void)head;
	(void)text;
	return 0;
}

/* ---- peers: none, because there is always a daemon ---- */

uint64_t peers_step(uint64_t now_ns, bool alone)
{
	(void)now_ns;
	(void)alone;
	return UINT64_MAX;
}

int peers_socket(void)
{
	return -1;
}

void peers_lost(void)
{
}

void peers_stop(void)
{
}

void peers_node(uint32_t gpu_id, bool active, uint64_t now_ns)
{
	(void)gpu_id;
	(void)active;
	(void)now_ns;
}

void peers_queue(const struct shim_queue *queue)
{
	(void)queue;
}

void peers_queue_gone(const struct shim_queue *queue)
{
	(void)queue;
}

void peers_forget(void)
{
}
