// SPDX-License-Identifier: MIT
/*
 * kfdsim: runs a command, unmodified, in a world where a simulated AMD GPU
 * exists. This process stays outside as the supervisor and is that world's
 * driver and GPU.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <limits.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sim/kfd/world.h"
#include "sim/run/filter.h"
#include "sim/run/mounts.h"
#include "sim/run/profile.h"
#include "sim/run/report.h"
#include "sim/run/say.h"
#include "sim/run/spawn.h"
#include "sim/run/topology.h"
#include "sim/run/watch.h"

#define USAGE                                                                                      \
	"kfdsim [--gpu PROFILE] [--kernel VERSION] [--time-scale X] [--set KEY=VALUE]... "         \
	"[--break RULE] [--report FILE.json] -- COMMAND [ARGUMENT]..."
#define SETS_MAX 64
#define SCALE_MIN 1e-4
#define SCALE_MAX 100.0

struct options {
	const char *gpu;
	double time_scale;
	const char *sets[SETS_MAX];
	size_t nsets;
	const char *report;
	int kernel; /* enum kfdabi_kernel; -1: not said */
	enum kfdabi_rule broken;
	char **command;
	bool help;
};

static int parse_scale(const char *text, double *out)
{
	char *end;

	*out = strtod(text, &end);
	if (end == text || *end || !isfinite(*out) || *out < SCALE_MIN || *out > SCALE_MAX)
		return complain(STATUS_USAGE,
				"--time-scale must be a number from %g to %g, not '%s'", SCALE_MIN,
				SCALE_MAX, text);
	return 0;
}

static int parse_option(struct options *o, int option, char **argv)
{
	switch (option) {
	case 'g':
		o->gpu = optarg;
		return 0;
	case 't':
		return parse_scale(optarg, &o->time_scale);
	case 's':
		if (o->nsets == SETS_MAX)
			return complain(STATUS_USAGE, "more than %d times --set", SETS_MAX);
		o->sets[o->nsets++] = optarg;
		return 0;
	case 'r':
		o->report = optarg;
		return 0;
	case 'k':
		o->kernel = kfdabi_kernel_find(optarg);
		if (o->kernel < 0)
			return complain(STATUS_USAGE,
					"--kernel: there are rules of Linux 6.12.95, 6.12.107 and "
					"7.3, not of '%s'",
					optarg);
		return 0;
	case 'b':
		o->broken = kfdabi_rule_find(optarg);
		if (o->broken == KFDABI_RULE_NONE)
			return complain(STATUS_USAGE,
					"--break: there is no rule '%s' (kfdconform --list tells "
					"them)",
					optarg);
		return 0;
	case 'h':
		o->help = true;
		return 0;
	case ':':
		return complain(STATUS_USAGE, "%s needs a value; usage: " USAGE, argv[optind - 1]);
	default:
		return complain(STATUS_USAGE, "there is no option %s; usage: " USAGE,
				argv[optind - 1]);
	}
}

static int parse(struct options *o, int argc, char **argv)
{
	static const struct option known[] = {
		{"gpu", required_argument, NULL, 'g'},
		{"time-scale", required_argument, NULL, 't'},
		{"set", required_argument, NULL, 's'},
		{"report", required_argument, NULL, 'r'},
		{"kernel", required_argument, NULL, 'k'},
		{"break", required_argument, NULL, 'b'},
		{"help", no_argument, NULL, 'h'},
		{0},
	};
	int option, status;

	*o = (struct options){.gpu = "mi210", .time_scale = 1.0, .kernel = -1};
	opterr = 0;
	/* '+': the command's own options are none of ours. */
	while ((option = getopt_long(argc, argv, "+:", known, NULL)) != -1) {
		status = parse_option(o, option, argv);
		if (status)
			return status;
	}
	if (!o->help && optind == argc)
		return complain(STATUS_USAGE, "which command? usage: " USAGE);
	o->command = argv + optind;
	return 0;
}

/* Nothing of ours may come to lie on a standard descriptor that is closed; to
 * the command it stays closed. */
static void fill_standard_descriptors(void)
{
	int fd;

	do {
		fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	} while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd >= 0)
		close(fd);
}

static int load_profile(const struct options *o, struct profile *profile)
{
	int status = profile_load(o->gpu, profile);

	for (size_t i = 0; i < o->nsets && !status; i++)
		status = profile_set(profile, o->sets[i]);
	return status ? status : profile_check(profile);
}

/* What can be known before anything is made. */
static int check_place(void)
{
	if (!access(SIMULATION_JSON, F_OK))
		return complain(STATUS_IMPOSSIBLE, "this is a simulated world already, and one "
						   "cannot hold another: start kfdsim outside");
	if (!filter_supported())
		return complain(STATUS_IMPOSSIBLE,
				"this kernel has no seccomp user notification: Linux 5.9 or later "
				"with CONFIG_SECCOMP_FILTER is needed");
	return 0;
}

static int build_tree(const struct profile *profile, struct tree *tree)
{
	int status = mounts_enter();

	if (!status)
		status = mounts_tree();
	if (!status)
		status = topology_write(profile);
	if (!status)
		status = mounts_devices(tree);
	return status;
}

static int new_world(const struct options *o, const struct profile *profile,
		     const struct tree *tree, struct world **world)
{
	struct world_config config = {0};
	int rc;

	profile_to_world(profile, &config);
	config.kernel = o->kernel < 0 ? KFDABI_LINUX_6_12_95 : (enum kfdabi_kernel)o->kernel;
	config.broken = o->broken;
	config.time_scale = o->time_scale;
	config.kfd_fd = tree->kfd;
	config.render_fd[0] = tree->render;
	config.modules_fd = tree->modules;
	config.sim_json_dirfd = tree->kfd_sysfs;
	rc = world_new(&config, world);
	if (rc)
		return complain(STATUS_FAILED, "cannot make the simulated GPU (%s)", strerror(-rc));
	return 0;
}

/* Whoever is at the other end of the command's streams must see their end when
 * the command closes them. */
static void let_go_of_streams(void)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (null < 0)
		return;
	dup2(null, STDIN_FILENO);
	dup2(null, STDOUT_FILENO);
	close(null);
}

/* Lets the command run and serves it; *status is the command's. */
static int serve(struct world *world, const struct world_init *init, int *status)
{
	struct watch watch;
	int rc, failed = watch_start(&watch, init);

	if (failed) {
		spawn_kill(init);
		return failed;
	}
	failed = spawn_go(init);
	rc = failed ? 0 : world_run(world, init->listener, watch.stop);
	if (rc)
		failed =
			complain(STATUS_FAILED, "the simulated driver stopped (%s)", strerror(-rc));
	/* With nobody to answer, the command would wait for ever. */
	if (failed)
		kill(init->pid, SIGKILL);
	*status = watch_join(&watch);
	if (!failed && watch.killed)
		complain(*status, "the world was killed (signal %d)", *status - 128);
	return failed;
}

static int run(const struct options *o, const struct profile *profile, struct spawn *spawn,
	       struct report *report)
{
	struct world_init init;
	struct world *world;
	struct tree tree;
	int command_status, status = build_tree(profile, &tree);

	if (!status)
		status = new_world(o, profile, &tree, &world);
	if (status)
		return status;
	spawn->trap_open = tree.modules >= 0;
	status = spawn_init(spawn, &init);
	let_go_of_streams();
	if (!status)
		status = serve(world, &init, &command_status);
	if (!status) {
		int bad = report->path ? report_write(report, world_report(world), command_status)
				       : 0;

		status = bad && !command_status ? bad : command_status;
	}
	world_free(world);
	return status;
}

int main(int argc, char **argv)
{
	char cwd[PATH_MAX];
	struct options options;
	struct profile profile;
	struct report report;
	struct spawn spawn = {0};
	sigset_t handed_on;
	int status;

	fill_standard_descriptors();
	status = parse(&options, argc, argv);
	if (!status && options.help) {
		printf("%s\n", USAGE);
		return 0;
	}
	if (!status)
		status = load_profile(&options, &profile);
	if (!status)
		status = check_place();
	if (!status && !getcwd(cwd, sizeof(cwd)))
		status = complain(STATUS_FAILED, "cannot tell the working folder (%s)",
				  strerror(errno));
	if (!status)
		status = report_open(&report, options.report);
	if (status)
		return status;

	spawn.command = options.command;
	spawn.cwd = cwd;
	spawn.umask = umask(022);
	/* An inherited "ignore" would keep us from learning exit codes. */
	spawn.ignore_child = signal(SIGCHLD, SIG_DFL) == SIG_IGN;
	watch_signals(&handed_on);
	sigprocmask(SIG_BLOCK, &handed_on, &spawn.mask);
	/* Signals of the runtime (ROCr's) must lie where the simulated GPU can
	 * decrement them atomically: in shared buffers, not user memory. */
	setenv("HSA_USERPTR_FOR_PAGED_MEM", "0", 0);
	status = run(&options, &profile, &spawn, &report);
	report_drop(&report);
	return status;
}
