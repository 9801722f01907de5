/* SPDX-License-Identifier: MIT */
/*
 * The simulated driver's interface. A struct sim is one simulation: /dev/kfd and the render nodes
 * as the tasks under one seccomp listener see them. Tasks are the processes and threads that run
 * under the seccomp filter. The runner (sim/sandbox) creates the namespaces, files and filter and
 * passes their fds to this module.
 *
 * The runner must provide:
 *  - kfd_fd and render_fd: regular files on a tmpfs, open for reading and writing, which the tasks
 *    see as /dev/kfd and /dev/dri/renderD(128 + i). sim_new() sets their (sparse) sizes. The
 *    render nodes are hard links of one file and are distinguished by their names, because libdrm
 *    takes them for one device.
 *  - a filter that notifies for ioctl() with a command of type 'K' or 'd', for process_vm_readv()
 *    and process_vm_writev(), and, if modules_fd is given, for openat(). Calls that are not for the
 *    simulated driver are answered with "continue".
 *  - HSA_USERPTR_FOR_PAGED_MEM=0 in the tasks' environment, so that signals are in shared buffers,
 *    where they can be decremented atomically.
 *
 * Ownership: sim_new() copies the configuration with its strings; fds stay the caller's and must
 * stay open as long as the simulation. Threads: all calls come from one thread, which must not do
 * anything else during sim_run() (the thread may get real-time priority there, reset on fork).
 * In real time sim_run() starts more threads while it runs: one waits for calls and is
 * interrupted by SIGUSR2, one makes large copies, and one writes simulation.json and debugfs, if
 * their directories are given. Errors: negative errno.
 */
#ifndef KFDSHIM_SIM_HOST_SIM_H
#define KFDSHIM_SIM_HOST_SIM_H

#include <jansson.h>

#include "sim/host/config.h"

struct sim;

/* Creates a simulation. Returns 0; -EINVAL: bad configuration; another negative errno. */
int sim_new(const struct sim_config *config, struct sim **out);
/* Frees a simulation and what the simulated driver keeps for its processes, as if all had exited.
 * Sends no signal. NULL is allowed. */
void sim_free(struct sim *sim);

/* Sets the PID namespace to which the pids in simulation.json belong. Must be called before the
 * first process runs. */
void sim_counts_in(struct sim *sim, uint64_t pid_namespace);

/* Makes the simulation's time virtual (sim/host/time/page.h); to be called before sim_run().
 * @page_fd: file of the time page, which stays the caller's. @init: first process of the
 * simulation, which must not run yet. Returns 0 or a negative errno. */
int sim_virtual(struct sim *sim, int page_fd, pid_t init);

/* Restricts the calling process and its future children to the core and the scheduling policy of a
 * simulation with a seed (virtual.c). Failures are ignored. */
void cores_of_sim(void);

/* Serves the notifications of @listener_fd and advances the GPUs until @stop_fd is readable or no
 * task is left under the filter. Returns 0, or a negative errno. */
int sim_run(struct sim *sim, int listener_fd, int stop_fd);

/* Returns the number of dispatches that were only timed, not executed. Writes to @names the names
 * of their kernels, the most frequent first, as many as have room; "" if there were none. */
uint64_t sim_timed_only(const struct sim *sim, char *names, size_t room);

/* Returns the report of "kfdsim --report" (docs/reference/kfdsim-report.md) as a new reference,
 * without "exit_code", which the runner adds; NULL: no memory. */
json_t *sim_report(struct sim *sim);

#endif
