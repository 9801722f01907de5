// SPDX-License-Identifier: MIT
/* kfdsched workload: runs a recorded model as GPU work, to try commands with. It starts
 * kfdreplay. */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/colocate/workload.h"
#include "cli/util/parse_options.h"

/* Online models get requests at a low load, offline models run as fast as they can. */
static const struct preset {
	const char *name;
	const char *trace;
	const char *what;
	const char *load; /* NULL: --closed */
} presets[] = {
	{"gemm", "offline_gemm4000_f32.csv", "products of two 4000 x 4000 matrices", NULL},
	{"cnn", "online_resnet50_b1.csv", "requests to ResNet-50, at 20 % load", "0.2"},
	{"transformer", "offline_gpt2m_train_8x1024.csv", "training steps of GPT-2 medium", NULL},
	{"llm-decode", "online_llama1b_decode_b1.csv", "tokens of a Llama of 1.1B parameters",
	 NULL},
};
#define PRESETS (sizeof(presets) / sizeof(presets[0]))

struct job {
	const struct preset *preset;
	struct option_number seconds;
	const char *priority, *api, *device;
	bool all_gpus, json;
};

/* Finds a trace in traces/ of the build, or where an installation has it. */
static int find_trace(const char *name, char path[PATH_MAX])
{
	static const char *const dirs[] = {"traces", "../share/kfdshim/traces"};
	char tried[256];

	for (size_t i = 0; i < sizeof(dirs) / sizeof(dirs[0]); i++) {
		snprintf(tried, sizeof(tried), "%s/%s", dirs[i], name);
		if (cli_beside(tried, path) == 0)
			return 0;
	}
	return -ENOENT;
}

/* Fills list[] with kfdreplay and the arguments that do not depend on the GPU. Returns their
 * number. */
static size_t replay_arguments(const struct job *job, const char *replay, const char *trace,
			       const char *list[static WORKLOAD_ARGUMENTS])
{
	size_t n = 0;

	list[n++] = replay;
	list[n++] = "--trace";
	list[n++] = trace;
	list[n++] = "--seconds";
	list[n++] = job->seconds.text;
	list[n++] = job->preset->load ? "--load" : "--closed";
	if (job->preset->load)
		list[n++] = job->preset->load;
	if (job->api) {
		list[n++] = "--api";
		list[n++] = job->api;
	}
	list[n] = NULL;
	return n;
}

/* Becomes kfdreplay on one GPU, so that the process id stays the same. Returns the exit code if
 * that fails. */
static int become_replay(const struct job *job, const char *replay, const char *trace)
{
	const char *list[WORKLOAD_ARGUMENTS + 8];
	char self[PATH_MAX];
	size_t n = 0;

	if (job->priority) {
		/* "kfdsched run" starts the same command with libkfdshim.so. */
		if (cli_beside("kfdsched", self))
			return cli_failed(&cmd_workload, "cannot find the directory of kfdsched");
		list[n++] = self;
		list[n++] = "run";
		list[n++] = "--priority";
		list[n++] = job->priority;
		list[n++] = "--";
	}
	n += replay_arguments(job, replay, trace, list + n);
	if (job->device) {
		list[n++] = "--device";
		list[n++] = job->device;
	}
	if (job->json) {
		list[n++] = "--json";
		list[n++] = "-";
	}
	list[n] = NULL;
	execv(list[0], (char *const *)(uintptr_t)list);
	return cli_failed(&cmd_workload, "cannot start %s: %s", list[0], strerror(errno));
}

static int run(int argc, char **argv)
{
	const char *names[PRESETS + 1] = {NULL};
	struct job job = {.seconds = {30, "30"}};
	unsigned preset = 0;
	const struct cli_option options[] = {
		{OPTION_NUMBER("seconds", &job.seconds, 0, "a number above 0")},
		{OPTION_PRIORITY(&job.priority)},
		{OPTION_TEXT("api", &job.api)},
		{OPTION_TEXT("device", &job.device)},
		{OPTION_FLAG("all-gpus", &job.all_gpus)},
		{OPTION_JSON(&job.json)},
		{OPTION_CHOICE("workload", &preset, names), .word = true},
		{0},
	};
	char replay[PATH_MAX], trace[PATH_MAX];
	const char *list[WORKLOAD_ARGUMENTS];
	int code;

	for (size_t i = 0; i < PRESETS; i++)
		names[i] = presets[i].name;
	code = options_read(&cmd_workload, argc, argv, options);
	if (code != CLI_GO_ON)
		return code;
	if (job.all_gpus && job.device)
		return cli_usage(&cmd_workload, "--all-gpus and --device exclude each other");
	job.preset = &presets[preset];
	if (cli_beside("kfdreplay", replay))
		return cli_failed(&cmd_workload, "kfdreplay is not in the directory of kfdsched: "
						 "build or install it there");
	if (find_trace(job.preset->trace, trace))
		return cli_failed(&cmd_workload,
				  "%s is neither in traces/ beside kfdsched nor in "
				  "../share/kfdshim/traces: build or install it there",
				  job.preset->trace);
	fprintf(stderr, "kfdsched workload: process %d: %s, for %s s%s\n", (int)getpid(),
		job.preset->what, job.seconds.text, job.all_gpus ? ", on each GPU" : "");
	if (!job.all_gpus)
		return become_replay(&job, replay, trace);
	replay_arguments(&job, replay, trace, list);
	return workload_on_all(&(struct workload){list, job.priority, job.json});
}

const struct cli_command cmd_workload = {
	.name = "workload",
	.summary = "run GPU work for experiments: a recorded model",
	.usage = "gemm|cnn|transformer|llm-decode [--seconds N] [--priority P] [--api hsa|hip] "
		 "[--device N | --all-gpus] [--json]",
	.help = "Replays a recorded model through the GPU's runtime until the time is over, or Ctrl-C, and\n"
		"prints the durations of its requests. It runs kfdreplay with these recordings:\n"
		"\n"
		"  gemm           products of two 4000 x 4000 matrices, one after the other\n"
		"  cnn            single requests to ResNet-50, at 20 % load\n"
		"  transformer    training steps of GPT-2 medium, one after the other\n"
		"  llm-decode     tokens of a Llama of 1.1B parameters, one after the other\n"
		"\n"
		"  --seconds N    wall time, default 30\n"
		"  --priority P   online, offline or 0 to 15: runs with the shim, as by 'kfdsched run';\n"
		"                 default: without the shim\n"
		"  --api NAME     hsa (default) or hip\n"
		"  --device N     index of the GPU, from 0\n"
		"  --all-gpus     a process on each GPU, all at once; with a priority they are one group,\n"
		"                 which is suspended and resumed together\n"
		"  --json         the result on stdout (docs/reference/kfdreplay.md)\n"
		"\n"
		"Examples:\n"
		"  kfdsched workload transformer --priority offline --seconds 600 &\n"
		"  kfdsched workload gemm --all-gpus --json | jq '.gpus[] | {index, rate: .result.rate_per_s}'\n",
	.run = run,
};
