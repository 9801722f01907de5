// SPDX-License-Identifier: MIT
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/proc.h"
#include "common/wait.h"
#include "kfd/device.h"
#include "kfd/ptrace.h"
#include "kfd/sysfs.h"
#include "kfd/uapi.h"
#include "scheduler/daemon/memory.h"
#include "scheduler/daemon/privileges.h"
#include "scheduler/daemon/reader/reader.h"

/* ---- processes that a request or a rule names ---- */

#define FILES 1024 /* descriptors that are checked; a process can have any number */

/* Returns true if the process has loaded the agent of the shim. The preloaded library is no sign:
 * it may be present but disabled (KFDSHIM_DISABLE), and then does not load the agent. */
static bool has_shim(pid_t pid)
{
	return proc_maps_find(pid, "libkfdshim-agent.so", NULL, 0) == 1;
}

/* Checks that `pid` is a process that can have a priority. Returns as target_read(). */
static int check_number(pid_t pid, char *problem, size_t size)
{
	struct proc_stat seen;
	pid_t leader;

	if (pid <= 0) {
		snprintf(problem, size, "%d is not a process id", (int)pid);
		return -EINVAL;
	}
	/* The watchdog is the parent of all processes of the daemon, and of this one. */
	if (pid == getppid() || proc_status_number(pid, "\nPPid:") == getppid()) {
		snprintf(problem, size, "process %d is kfdschedd itself", (int)pid);
		return -EINVAL;
	}
	leader = proc_status_number(pid, "\nTgid:");
	if (!leader || !proc_stat(pid, &seen)) {
		snprintf(problem, size, "there is no process %d in the daemon's PID namespace",
			 (int)pid);
		return -ESRCH;
	}
	if (leader != pid) {
		snprintf(problem, size, "%d is a thread of process %d: use the process id",
			 (int)pid, (int)leader);
		return -EINVAL;
	}
	if (seen.kernel_thread) {
		snprintf(problem, size, "process %d is a kernel thread", (int)pid);
		return -EINVAL;
	}
	if (seen.state == 'Z' || seen.state == 'X') {
		snprintf(problem, size,
			 "process %d has ended (a zombie: its parent has not collected its exit "
			 "status)",
			 (int)pid);
		return -ESRCH;
	}
	return 0;
}

/* Checks that the process uses the driver and has no shim. Returns as target_read(). The driver
 * lists processes by their pid in the initial PID namespace (lead_thread->pid in kfd_process.c). In
 * another namespace, such a number belongs to another process. */
static int check_use(pid_t pid, char *problem, size_t size)
{
	int has = kfd_device_opened_by(pid, FILES);
	struct sysfs_queue queue;
	bool listed = sysfs_queues(pid, &queue, 1) >= 0;

	if (listed ? has == 0 : has == 1) {
		snprintf(problem, size,
			 "process %d %s: kfdschedd is in another PID namespace than the "
			 "driver's list (a container?); run it on the host%s",
			 (int)pid,
			 listed ? "has not opened /dev/kfd, but the driver lists its pid"
				: "has opened /dev/kfd, but the driver does not list its pid",
			 listed ? "" : ", unless it only inherited the file or has just started");
		return -ENODEV;
	}
	if (!listed) {
		snprintf(problem, size,
			 "process %d does not use an AMD GPU: it is not in "
			 "/sys/class/kfd/kfd/proc (if it has just started, try again)",
			 (int)pid);
		return -ENODEV;
	}
	if (has_shim(pid)) {
		snprintf(problem, size,
			 "process %d runs with the shim and has not registered with this "
			 "daemon: it does so itself, unless its KFDSHIM_SOCKET names another "
			 "daemon",
			 (int)pid);
		return -EEXIST;
	}
	return 0;
}

int target_read(pid_t pid, struct peer_facts *out, char *problem, size_t size)
{
	int error = check_number(pid, problem, size), pidfd;

	if (error)
		return error;
	pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	error = pidfd < 0 ? -errno : peer_read(pid, out);
	if (error == -ESRCH)
		snprintf(problem, size, "process %d has just ended", (int)pid);
	else if (error == -EACCES)
		snprintf(problem, size,
			 "cannot read the namespaces of process %d: the daemon needs the same "
			 "user or CAP_SYS_PTRACE (run it as root, and not in a container)",
			 (int)pid);
	else if (error)
		snprintf(problem, size, "cannot open process %d: %s", (int)pid, strerror(-error));
	else /* check once more: from now on the pidfd shows if the pid is reused */
		error = check_number(pid, problem, size);
	if (!error)
		error = check_use(pid, problem, size);
	/* If the process still lives, its pid was not reused, so all that was read is about it. */
	if (!error && poll_now(pidfd, POLLIN) != 0) {
		snprintf(problem, size, "process %d has just ended", (int)pid);
		error = -ESRCH;
	}
	if (pidfd >= 0)
		close(pidfd);
	return error;
}

static bool thread_destroys(int tasks, const char *tid)
{
	unsigned long number = 0, fd, request = 0;
	char path[64], text[256];

	snprintf(path, sizeof(path), "%.20s/syscall", tid);
	if (proc_read_at(tasks, path, text, sizeof(text)) <= 0)
		return false;
	/* the file contains "running" unless the thread sleeps in a system call */
	return sscanf(text, "%lu %lx %lx", &number, &fd, &request) == 3 && number == SYS_ioctl &&
	       _IOC_TYPE(request) == KFDABI_TYPE &&
	       _IOC_NR(request) == _IOC_NR(AMDKFD_IOC_DESTROY_QUEUE);
}

/* Returns true if a thread of the process is in DESTROY_QUEUE, where it sleeps until the queue is
 * resumed (wait_on_destroy_queue in the driver). A process without the shim does not announce that.
 * Reads one file for each thread. */
static bool destroys(pid_t pid)
{
	struct dirent *entry;
	bool found = false;
	char path[64];
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	dir = opendir(path);
	while (dir && !found && (entry = readdir(dir)))
		found = entry->d_name[0] != '.' && thread_destroys(dirfd(dir), entry->d_name);
	if (dir)
		closedir(dir);
	return found;
}

/* ---- requests ---- */

static int32_t result_of(const struct reader_request *request, struct reader_reply *reply)
{
	switch ((enum reader_what)request->what) {
	case READER_FACTS:
		return peer_read(request->pid, &reply->facts);
	case READER_SUBJECT:
		return subject_read(request->pid, &reply->subject);
	case READER_NUMBER:
		return peer_read_number(request->pid, request->other);
	case READER_TARGET:
		return target_read(request->pid, &reply->facts, reply->problem,
				   sizeof(reply->problem));
	case READER_HAS_SHIM:
		return has_shim(request->pid);
	case READER_DESTROYS:
		return destroys(request->pid);
	case READER_RIGHT_HAS_COME:
		return tracer_right_has_come(request->pid);
	}
	return -EINVAL;
}

/* Receives the newest request; the worker waits for no earlier one any more. Returns the size of
 * the packet. If that is negative or below the size of a request, there is no request. */
static ssize_t take(int socket, struct reader_request *request)
{
	ssize_t n;

	do
		n = read(socket, request, sizeof(*request));
	while (n == (ssize_t)sizeof(*request) && poll_now(socket, POLLIN) > 0);
	return n;
}

int reader_run(int socket, const void *counts, uint64_t *refused)
{
	struct reader_request request;
	ssize_t n;

	(void)memory_unshare(counts, false);
	memory_lock();
	privilege_urgent(false);
	privilege_drop(FILTER_READER, refused);
	for (;;) {
		struct reader_reply reply = {0};

		n = take(socket, &request);
		if (n < 0 && errno == EINTR)
			continue;
		if (n != (ssize_t)sizeof(request))
			return 1;
		reply.number = request.number;
		reply.took_ns = clock_ns();
		reply.result = result_of(&request, &reply);
		reply.took_ns = clock_ns() - reply.took_ns;
		(void)!write(socket, &reply, sizeof(reply));
		filter_report();
	}
}
