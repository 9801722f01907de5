// SPDX-License-Identifier: MIT
/*
 * kfdsim: runs an unmodified command in an environment with a simulated AMD GPU. This process stays
 * outside of that environment, as the supervisor that implements its driver and GPU.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/proc.h"
#include "common/version.h"
#include "common/wait.h"
#include "sim/host/sim.h"
#include "sim/sandbox/options.h"
#include "sim/sandbox/say.h"
#include "sim/sandbox/spawn.h"

/* The file of --report (docs/reference/kfdsim-report.md). */
static struct {
	const char *path; /* NULL: no report */
	int fd;
	bool made; /* the file did not exist before */
} report = {.fd = -1};

/* Opens the file of --report. This happens before anything starts, so that a run of an hour does
 * not end with "permission denied". */
static void report_open(const char *path)
{
	report.path = path;
	if (!path)
		return;
	report.fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	report.made = report.fd >= 0;
	if (report.fd < 0 && errno == EEXIST)
		report.fd = open(path, O_WRONLY | O_CLOEXEC);
	if (report.fd < 0)
		die(STATUS_USAGE, "cannot write the report %s (%s)", path, strerror(errno));
}

/* Writes the object, with the exit code added, to the report file. Takes over the reference to the
 * object. Returns 0, or an exit status after a message. */
static int report_write(json_t *object, int exit_code)
{
	int bad = 0;

	if (report.fd >= 0) {
		bad = !object || json_object_set_new(object, "exit_code", json_integer(exit_code));
		/* ftruncate() fails with EINVAL for a pipe or /dev/stdout, which do not need it. */
		if (!bad && ftruncate(report.fd, 0) && errno != EINVAL)
			bad = 1;
		if (!bad)
			bad = json_dumpfd(object, report.fd, JSON_INDENT(1)) ||
			      write(report.fd, "\n", 1) != 1;
		bad |= close(report.fd) != 0;
		report.fd = -1;
	}
	json_decref(object);
	return bad ? complain(STATUS_FAILED, "cannot write the report %s", report.path) : 0;
}

/* Closes the file if no report was written, and deletes it if report_open() created it. */
static void report_drop(void)
{
	if (report.fd < 0)
		return;
	close(report.fd);
	report.fd = -1;
	if (report.made)
		unlink(report.path);
}

/* Opens /dev/null for closed standard file descriptors, so that no file of kfdsim gets such a
 * number. For the command they stay closed, because of O_CLOEXEC. */
static void fill_standard_descriptors(void)
{
	int fd;

	do {
		fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	} while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd >= 0)
		close(fd);
}

#ifndef SYS_futex_waitv
#define SYS_futex_waitv 449 /* Linux 5.16; missing in older system headers */
#endif

#define SLEEPER_TRIES 10000 /* 1 ms each; enough for a machine under very high load */
#define INSTEAD "run on another kernel, or use --real-time"

/* Returns true if the kernel has futex_waitv(). The time library needs it to wait for a program's
 * futex and for the end of a time together. */
static bool has_futex_waitv(void)
{
	return syscall(SYS_futex_waitv, NULL, 0, 0, NULL, 0) < 0 && errno == EINVAL;
}

/* Waits until the /proc file @name of a sleeping process shows another word than @not. Returns
 * false if it does not do so in time, or if the kernel has no such file. */
static bool shows(pid_t sleeper, const char *name, const char * not )
{
	char word[64];

	for (int i = 0; i < SLEEPER_TRIES; i++) {
		proc_read(sleeper, name, word, sizeof(word));
		word[strcspn(word, " \n")] = '\0';
		if (!word[0])
			return false;
		if (strcmp(word, not ))
			return true;
		sleep_ns(1000000);
	}
	return false;
}

/* Starts a process that sleeps until the pipe is closed, at the latest when kfdsim ends. */
static pid_t start_sleeper(int pipe_end[2])
{
	pid_t pid;
	char byte;

	if (pipe2(pipe_end, O_CLOEXEC))
		return -1;
	pid = fork();
	if (!pid) {
		close(pipe_end[1]);
		_exit(read(pipe_end[0], &byte, 1) != 0);
	}
	return pid;
}

/* Ends kfdsim if files of /proc are missing that idle_check() (idle.h) reads. */
static void check_sleeper(pid_t sleeper)
{
	if (!shows(sleeper, "wchan", "0"))
		die(STATUS_IMPOSSIBLE,
		    "--virtual needs /proc/PID/wchan with the function in which a thread "
		    "waits, which this kernel does not show (CONFIG_KALLSYMS): " INSTEAD);
	if (!shows(sleeper, "syscall", "running"))
		die(STATUS_IMPOSSIBLE,
		    "--virtual needs /proc/PID/syscall, which this kernel does not have, "
		    "or a security module hides: " INSTEAD);
}

/* Checks for the kernel features that virtual time needs. */
static void check_time_support(void)
{
	int pipe_end[2];
	pid_t sleeper;

	if (!has_futex_waitv())
		die(STATUS_IMPOSSIBLE,
		    "--virtual needs the system call futex_waitv, which this kernel does "
		    "not have (Linux 5.16 or later has it) or a container's filter refuses: "
		    "allow it in the filter, " INSTEAD);
	if (access("/proc/loadavg", R_OK))
		die(STATUS_IMPOSSIBLE,
		    "--virtual needs /proc/loadavg (%s), which a /proc with subset=pid "
		    "does not have: mount it without subset, or use --real-time",
		    strerror(errno));
	sleeper = start_sleeper(pipe_end);
	if (sleeper < 0)
		die(STATUS_FAILED, "cannot start a process (%s)", strerror(errno));
	check_sleeper(sleeper);
	close(pipe_end[0]);
	close(pipe_end[1]);
	TEMP_FAILURE_RETRY(waitpid(sleeper, NULL, 0));
}

/* Ends kfdsim if it certainly cannot run here. Called before anything is created. */
static void check_place(const struct sim_options *o)
{
	struct seccomp_notif_sizes sizes;

	if (!access(SIMULATION_JSON, F_OK))
		die(STATUS_IMPOSSIBLE,
		    "this process is already in a simulation, and simulations cannot be nested: start "
		    "kfdsim outside");
	if (syscall(SYS_seccomp, SECCOMP_GET_NOTIF_SIZES, 0, &sizes))
		die(STATUS_IMPOSSIBLE,
		    "this kernel has no seccomp user notification: Linux 5.9 or later with "
		    "CONFIG_SECCOMP_FILTER is needed");
	if (o->virtual_time)
		check_time_support();
}

/* Creates the files of the simulation. @library: the time library, -1 in real time. */
static void build_tree(const struct machine *machine, int library, struct tree *tree)
{
	mounts_enter();
	mounts_tree();
	topology_write(machine);
	mounts_devices(tree, machine->n_nodes);
	tree->time_page = -1;
	if (library >= 0)
		mounts_time(tree, library);
}

/* Creates the simulated driver and GPU from the options, the machine and the files. */
static struct sim *new_sim(const struct sim_options *o, const struct machine *machine,
			   const struct tree *tree)
{
	struct sim_config config = {0};
	struct stat input = {0};
	struct sim *sim;
	int rc;

	profile_to_sim(machine->profile, &config);
	config.nodes = machine->n_nodes;
	for (unsigned i = 0; i < machine->n_nodes; i++) {
		config.gpu_ids[i] = machine->nodes[i].gpu_id;
		config.locations[i] = machine->nodes[i].location;
	}
	config.render_fd = tree->render;
	config.kernel = machine->kernel;
	config.node.capability = machine_capability(machine);
	config.broken_rule = o->broken_rule;
	config.time_scale = o->time_scale;
	config.seed = o->seed;
	config.kfd_fd = tree->kfd;
	config.modules_fd = tree->modules;
	config.sim_json_dirfd = tree->kfd_sysfs;
	config.debugfs_dirfd = tree->debugfs;
	fstat(STDIN_FILENO, &input);
	config.input_dev = input.st_dev;
	config.input_ino = input.st_ino;
	rc = sim_new(&config, &sim);
	if (rc)
		die(STATUS_FAILED, "cannot make the simulated GPU (%s)", strerror(-rc));
	return sim;
}

/* Replaces stdin and stdout by /dev/null, because the other ends of the command's streams must see
 * the end of file when the command closes them. */
static void let_go_of_streams(void)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (null < 0)
		return;
	dup2(null, STDIN_FILENO);
	dup2(null, STDOUT_FILENO);
	close(null);
}

/* Lets the command run and serves it. Returns the exit status of the command. */
static int serve(struct sim *sim, const struct sim_init *init, int time_page)
{
	struct watch watch;
	int rc, status;

	if (time_page >= 0) {
		rc = sim_virtual(sim, time_page, init->pid);
		if (rc)
			die(STATUS_FAILED, "cannot start the clock of the simulation (%s)",
			    strerror(-rc));
	}
	watch_start(&watch, init);
	sim_counts_in(sim, proc_namespace(init->pid, "pid"));
	spawn_go(init);
	rc = sim_run(sim, init->listener, watch.stop);
	if (rc) {
		complain(STATUS_FAILED, "the simulated driver stopped (%s)%s", strerror(-rc),
			 rc == -EMFILE ? ": raise the limit of open files (ulimit -n)" : "");
		/* The command would wait forever for a call that is no longer served. */
		kill(init->pid, SIGKILL);
		watch_join(&watch);
		end(STATUS_FAILED);
	}
	status = watch_join(&watch);
	if (watch.killed)
		complain(status, "the simulation was killed (signal %d)", status - 128);
	return status;
}

/* Prints the names of the kernels that were only timed, not executed. Returns 0, or an exit status
 * if such kernels count as a failure (--fail-on-timed). */
static int print_timed(const struct sim_options *o, const struct sim *sim)
{
	char names[256];
	uint64_t n = sim_timed_only(sim, names, sizeof names);

	if (!n)
		return 0;
	return complain(o->fail_on_timed ? STATUS_FAILED : 0,
			"%llu kernel%s timed, not executed, and wrote nothing: %s",
			(unsigned long long)n, n == 1 ? " was" : "s were", names);
}

/* Builds the simulation, runs the command in it and writes the report. Returns the exit status of
 * kfdsim: that of the command, unless kfdsim itself has failed. */
static int run(const struct sim_options *o, const struct machine *machine, struct spawn *spawn)
{
	int bad, status, library = o->virtual_time ? mounts_open_library() : -1;
	struct sim_init init;
	struct sim *sim;
	struct tree tree;

	build_tree(machine, library, &tree);
	sim = new_sim(o, machine, &tree);
	spawn->trap_open = tree.modules >= 0;
	spawn->virtual_time = o->virtual_time;
	spawn->turns = o->seed != 0;
	spawn->wait_all = o->wait_all;
	spawn_init(spawn, &init);
	let_go_of_streams();
	status = serve(sim, &init, tree.time_page);
	bad = print_timed(o, sim);
	if (report.path)
		bad |= report_write(sim_report(sim), status);
	sim_free(sim);
	return bad && !status ? bad : status;
}

int main(int argc, char **argv)
{
	struct root root;
	struct sim_options options;
	struct profile profile;
	struct machine machine;
	struct spawn spawn = {0};
	sigset_t handed_on;
	int status;

	fill_standard_descriptors();
	if (version_print(argc, argv, "kfdsim"))
		return 0;
	options_parse(&options, argc, argv);
	if (options.help) {
		options_help();
		return 0;
	}
	options_settle(&options, &profile);
	check_place(&options);
	machine_new(&machine, &profile, options.gpus, (enum kfdabi_kernel)options.kernel);
	machine.broken_rule = options.broken_rule;
	root_find(&root, options.root);
	report_open(options.report);
	before_end = report_drop;

	spawn.command = options.command;
	spawn.root = &root;
	spawn.umask = umask(022);
	/* With SIGCHLD ignored, wait() returns no exit codes. */
	spawn.ignore_child = signal(SIGCHLD, SIG_DFL) == SIG_IGN;
	watch_signals(&handed_on);
	/* The files of a simulated GPU are large. With SIGXFSZ ignored, a file size limit causes an
	 * error instead of a signal. */
	spawn.ignore_file_size = signal(SIGXFSZ, SIG_IGN) == SIG_IGN;
	sigprocmask(SIG_BLOCK, &handed_on, &spawn.mask);
	/* The signals of the runtime (ROCr) must be in memory where the simulated GPU can decrement
	 * them atomically: in shared buffers, not in user memory. */
	setenv("HSA_USERPTR_FOR_PAGED_MEM", "0", 0);
	status = run(&options, &machine, &spawn);
	report_drop();
	return status;
}
