// SPDX-License-Identifier: MIT
#include "sim/sandbox/options.h"

#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sim/sandbox/say.h"

#define SCALE_MIN 1e-4
#define SCALE_MAX 100.0
#define GPUS_TRIED 2u /* no driver rule needs more */

static const char help_text[] =
	"\n"
	"Runs COMMAND, unmodified, on simulated AMD GPUs. Kernels take time and are not\n"
	"executed, except the copies and fills of the runtimes and the kernels of kfdreplay.\n"
	"\n"
	"  --gpu PROFILE       mi210 (default), mi300x, mi308x, mi100; mi300x-cpx, mi308x-cpx\n"
	"  --gpus N            number of GPUs, 1 (default) to 8\n"
	"  --kernel VERSION    version of the driver's rules: 6.12.95 (default), 6.12.107, 7.3\n"
	"  --virtual           one clock for the simulation, which stops while any of its programs\n"
	"                      runs: times do not depend on this machine; KFDSIM_VIRTUAL=1 in the\n"
	"                      environment does the same\n"
	"  --seed N            with --virtual: all threads share one core, and N determines the\n"
	"                      order of threads that wake at the same time\n"
	"  --real-time         the machine's clock (default)\n"
	"  --time-scale X      the GPU's clock against the wall's (default 1); 0.1: ten times\n"
	"                      slower\n"
	"  --set KEY=VALUE     changes a value of the profile, such as bounce_us=200; repeatable\n"
	"  --break RULE        violate one rule of the driver (kfdconform --list)\n"
	"  --root DIR          use this directory as / of COMMAND (packaging/roots.sh creates some)\n"
	"  --report FILE.json  write a report at the end (docs/reference/kfdsim-report.md)\n"
	"  --fail-on-timed     end with 1 if a kernel was timed and not executed; a line on\n"
	"                      standard error lists such kernels in any case\n"
	"  --wait-all          run until the last process has ended, not only COMMAND\n"
	"  --help              this text\n"
	"  --version           prints release, commit and protocol\n"
	"\n"
	"docs/kfdsim/ describes every key, and what differs from hardware.\n"
	"Exit code: that of COMMAND; else 1 failure, 2 usage error, 77 not possible here.\n";

void options_help(void)
{
	printf("usage: %s\n%s", OPTIONS_USAGE, help_text);
}

static void parse_scale(const char *text, double *out)
{
	char *end;

	*out = strtod(text, &end);
	if (end == text || *end || !isfinite(*out) || *out < SCALE_MIN || *out > SCALE_MAX)
		die(STATUS_USAGE, "--time-scale must be a number from %g to %g, not '%s'",
		    SCALE_MIN, SCALE_MAX, text);
}

/* Parses a whole number from 1 to @most. For any other text, dies with the message @wanted. */
static uint64_t parse_whole(const char *text, uint64_t most, const char *wanted)
{
	char *end;
	uint64_t value;

	errno = 0;
	value = strtoull(text, &end, 10);
	if (end == text || *end || *text == '-' || errno || !value || value > most)
		die(STATUS_USAGE, "%s, not '%s'", wanted, text);
	return value;
}

static void parse_kernel(const char *text, int *out)
{
	*out = kfdabi_kernel_find(text);
	if (*out < 0)
		die(STATUS_USAGE, "--kernel must be 6.12.95, 6.12.107 or 7.3, not '%s'", text);
}

static void parse_rule(const char *text, enum kfdabi_rule *out)
{
	*out = kfdabi_rule_find(text);
	if (*out == KFDABI_RULE_NONE)
		die(STATUS_USAGE,
		    "--break: there is no rule '%s': did you mean %s? (kfdconform --list "
		    "prints all)",
		    text, kfdabi_rule_near(text));
}

static void parse_option(struct sim_options *o, int option, char **argv)
{
	switch (option) {
	case 'g':
		o->gpu = optarg;
		break;
	case 'n':
		o->gpus = (unsigned)parse_whole(optarg, MACHINE_GPUS_MAX,
						"--gpus must be a whole number from 1 to 8");
		break;
	case 'k':
		parse_kernel(optarg, &o->kernel);
		break;
	case 't':
		parse_scale(optarg, &o->time_scale);
		break;
	case 'v':
	case 'T':
		o->virtual_time = option == 'v';
		break;
	case 'S':
		o->seed = parse_whole(optarg, UINT64_MAX, "--seed must be a whole number above 0");
		break;
	case 's':
		if (o->nsets == OPTIONS_SETS_MAX)
			die(STATUS_USAGE, "--set can be given %d times at most", OPTIONS_SETS_MAX);
		o->sets[o->nsets++] = optarg;
		break;
	case 'b':
		parse_rule(optarg, &o->broken_rule);
		break;
	case 'R':
		o->root = optarg;
		break;
	case 'r':
		o->report = optarg;
		break;
	case 'f':
		o->fail_on_timed = true;
		break;
	case 'w':
		o->wait_all = true;
		break;
	case 'h':
		o->help = true;
		break;
	case ':':
		die(STATUS_USAGE, "%s needs a value; usage: " OPTIONS_USAGE, argv[optind - 1]);
	default:
		die(STATUS_USAGE, "unknown option %s; usage: " OPTIONS_USAGE, argv[optind - 1]);
	}
}

void options_parse(struct sim_options *o, int argc, char **argv)
{
	static const struct option known[] = {
		{"gpu", required_argument, NULL, 'g'},
		{"gpus", required_argument, NULL, 'n'},
		{"kernel", required_argument, NULL, 'k'},
		{"virtual", no_argument, NULL, 'v'},
		{"seed", required_argument, NULL, 'S'},
		{"real-time", no_argument, NULL, 'T'},
		{"time-scale", required_argument, NULL, 't'},
		{"set", required_argument, NULL, 's'},
		{"break", required_argument, NULL, 'b'},
		{"root", required_argument, NULL, 'R'},
		{"report", required_argument, NULL, 'r'},
		{"fail-on-timed", no_argument, NULL, 'f'},
		{"wait-all", no_argument, NULL, 'w'},
		{"help", no_argument, NULL, 'h'},
		{0},
	};
	const char *virtual_time = getenv("KFDSIM_VIRTUAL");
	int option;

	*o = (struct sim_options){.time_scale = 1.0,
				  .kernel = -1,
				  .virtual_time = virtual_time && !strcmp(virtual_time, "1")};
	opterr = 0;
	/* '+' stops at the command: its options are not kfdsim's. */
	while ((option = getopt_long(argc, argv, "+:", known, NULL)) != -1)
		parse_option(o, option, argv);
	if (!o->help && optind == argc)
		die(STATUS_USAGE, "no command given; usage: " OPTIONS_USAGE);
	if (o->seed && !o->virtual_time)
		die(STATUS_USAGE, "--seed needs --virtual: in real time the machine "
				  "determines the order of threads");
	o->command = argv + optind;
}

/* Loads the profile, applies all --set values and checks the result. */
static void load_profile(const struct sim_options *o, const char *gpu, struct profile *profile)
{
	profile_load(gpu, profile);
	for (size_t i = 0; i < o->nsets; i++)
		profile_set(profile, o->sets[i]);
	profile_check(profile);
}

/* Returns the first kernel under which a machine with this profile and number of GPUs has the rule
 * of --break. Tries only the kernels that the command line allows. Returns -1 if there is none. */
static int kernel_with_rule(const struct sim_options *o, const struct profile *profile,
			    unsigned gpus)
{
	const struct profile node = profile_node(profile);

	for (int kernel = 0; kernel < KFDABI_KERNELS; kernel++) {
		const struct kfdabi_machine machine = {
			.kernel = (enum kfdabi_kernel)kernel,
			.gfx_target_version = node.gfx_target_version,
			.xccs = node.num_xcc,
			.nodes = gpus * profile->partitions,
		};

		if ((o->kernel < 0 || o->kernel == kernel) &&
		    !kfdabi_rule_why_not(o->broken_rule, &machine))
			return kernel;
	}
	return -1;
}

/* For --break: finds the first machine (profile and number of GPUs) to which the rule applies,
 * among those that the options allow. */
static void settle_for_rule(struct sim_options *o, struct profile *profile)
{
	const unsigned first = o->gpus ? o->gpus : 1, last = o->gpus ? o->gpus : GPUS_TRIED;

	for (size_t i = 0; profile_name(i); i++) {
		const char *gpu = o->gpu ? o->gpu : profile_name(i);

		load_profile(o, gpu, profile);
		for (unsigned gpus = first; gpus <= last; gpus++) {
			int kernel = kernel_with_rule(o, profile, gpus);

			if (kernel < 0)
				continue;
			o->gpu = gpu;
			o->gpus = gpus;
			o->kernel = kernel;
			return;
		}
		if (o->gpu)
			break;
	}
	die(STATUS_USAGE,
	    "--break: no such machine has the rule '%s': omit --gpu, --gpus and "
	    "--kernel, and kfdsim selects one that does",
	    kfdabi_rule(o->broken_rule)->name);
}

void options_settle(struct sim_options *o, struct profile *profile)
{
	if (o->broken_rule != KFDABI_RULE_NONE) {
		settle_for_rule(o, profile);
		return;
	}
	if (!o->gpu)
		o->gpu = profile_name(0);
	if (!o->gpus)
		o->gpus = 1;
	if (o->kernel < 0)
		o->kernel = KFDABI_LINUX_6_12_95;
	load_profile(o, o->gpu, profile);
}
