// SPDX-License-Identifier: MIT
/* kfdsched colocate: what one GPU for two does to both of them, by experiment. */
#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>
#include <unistd.h>

#include "scheduler/cli/arm.h"
#include "scheduler/cli/colocate_svg.h"
#include "scheduler/cli/options.h"
#include "scheduler/cli/progress.h"

struct request {
	const char *online, *offline;
	const char *arrivals;
	const char *config;
	const char *json, *svg;
	struct option_number load, rate, seconds;
	unsigned long seeds; /* 0: not given */
	bool arms[ARM_COUNT];
};

static int read_arms(const char *text, void *into)
{
	bool *arms = into;

	memset(arms, 0, ARM_COUNT * sizeof(arms[0]));
	for (const char *name = text;; name += strcspn(name, ",") + 1) {
		size_t length = strcspn(name, ",");
		unsigned arm = 0;

		while (arm < ARM_COUNT && (strlen(arm_names[arm]) != length ||
					   strncmp(arm_names[arm], name, length) != 0))
			arm++;
		if (arm == ARM_COUNT)
			return -EINVAL;
		arms[arm] = true;
		if (name[length] == '\0')
			return 0;
	}
}

/* The folder has to take the file when the measuring is over. */
static int check_output(const char *path)
{
	char folder[PATH_MAX];
	const char *slash = strrchr(path, '/');

	if (strlen(path) >= sizeof(folder))
		return -ENAMETOOLONG;
	if (access(path, F_OK) == 0)
		return access(path, W_OK) == 0 ? 0 : -errno;
	snprintf(folder, sizeof(folder), "%.*s", slash ? (int)(slash - path) + 1 : 1,
		 slash ? path : ".");
	return access(folder, W_OK | X_OK) == 0 ? 0 : -errno;
}

static const char *arrivals_file(const struct request *request)
{
	return strncmp(request->arrivals, "file:", 5) == 0 ? request->arrivals + 5 : NULL;
}

static int check_files(const struct request *request)
{
	const struct {
		const char *what, *path;
	} inputs[] = {
		{"the trace", request->online},
		{"the trace", request->offline},
		{"the arrivals", arrivals_file(request)},
		{"the configuration", request->config},
	};
	const char *const outputs[] = {request->json, request->svg};

	for (unsigned i = 0; i < sizeof(inputs) / sizeof(inputs[0]); i++)
		if (inputs[i].path && access(inputs[i].path, R_OK) != 0)
			return cli_failed(&verb_colocate, "cannot read %s %s: %m", inputs[i].what,
					  inputs[i].path);
	for (unsigned i = 0; i < 2; i++) {
		int rc = outputs[i] ? check_output(outputs[i]) : 0;

		if (rc)
			return cli_failed(&verb_colocate, "cannot write %s: %s", outputs[i],
					  strerror(-rc));
	}
	return CLI_DONE;
}

static int read_arrivals(const char *text, void *into)
{
	static const char *const kinds[] = {"poisson", "fixed", "bursty"};

	*(const char **)into = text;
	for (unsigned i = 0; i < 3; i++)
		if (strcmp(text, kinds[i]) == 0)
			return 0;
	return strncmp(text, "file:", 5) == 0 && text[5] ? 0 : -EINVAL;
}

static int parse(int argc, char **argv, struct request *out)
{
	const struct verb_option options[] = {
		{OPTION_TEXT("online", &out->online)},
		{OPTION_TEXT("offline", &out->offline)},
		{OPTION_READ("arms", out->arms, read_arms, "a list of alone, shared and trap")},
		{OPTION_READ("arrivals", &out->arrivals, read_arrivals,
			     "poisson, fixed, bursty or file:PATH")},
		{OPTION_NUMBER("load", &out->load, 0, "a share of GPU time such as 0.2")},
		{OPTION_NUMBER("rate", &out->rate, 0, "requests a second")},
		{OPTION_NUMBER("seconds", &out->seconds, 86400, "seconds, at most a day")},
		{OPTION_COUNT("seeds", &out->seeds, 1, RESULT_SEEDS_MAX, "a number, 1 to 32")},
		{OPTION_TEXT("config", &out->config)},
		{OPTION_TEXT("json", &out->json)},
		{OPTION_TEXT("svg", &out->svg)},
		{0},
	};
	int code = options_read(&verb_colocate, argc, argv, options);

	if (code != CLI_GO_ON)
		return code;
	if (!out->online || !out->offline)
		return cli_usage(&verb_colocate, "no --%s trace",
				 out->online ? "offline" : "online");
	if (out->load.text && out->rate.text)
		return cli_usage(&verb_colocate, "--load and --rate exclude each other");
	if (!out->load.text && !out->rate.text)
		out->load = (struct option_number){0.2, "0.2"};
	return CLI_GO_ON;
}

/* "traces/online_x.csv" -> "online_x" */
static void trace_name(const char *path, char *name, size_t size)
{
	const char *slash = strrchr(path, '/');

	snprintf(name, size, "%s", slash ? slash + 1 : path);
	char *dot = strrchr(name, '.');

	if (dot && dot != name)
		*dot = '\0';
}

static int find_binaries(struct arm_setup *setup)
{
	const struct {
		const char *name;
		char *path;
	} wanted[] = {{"kfdreplay", setup->replay},
		      {"kfdschedd", setup->daemon},
		      {"libkfdshim.so", setup->shim}};

	for (unsigned i = 0; i < 3; i++)
		if (cli_beside(wanted[i].name, wanted[i].path))
			return cli_failed(&verb_colocate,
					  "%s is neither in the folder of kfdsched nor in ../lib: "
					  "build or install it there",
					  wanted[i].name);
	if (strpbrk(setup->shim, " :"))
		return cli_failed(&verb_colocate,
				  "LD_PRELOAD cannot carry %s, because of its space or colon: "
				  "move the build to another folder",
				  setup->shim);
	return CLI_DONE;
}

static int make_folder(struct arm_setup *setup)
{
	const char *base = getenv("TMPDIR");
	size_t room = sizeof(((struct sockaddr_un *)0)->sun_path) - sizeof("/socket");

	if (!base || base[0] != '/')
		base = "/tmp";
	snprintf(setup->folder, sizeof(setup->folder), "%s/kfdsched-XXXXXX", base);
	if (strlen(setup->folder) > room)
		return cli_failed(&verb_colocate,
				  "a socket in %s would have too long a path: set a shorter TMPDIR",
				  base);
	if (!mkdtemp(setup->folder)) {
		setup->folder[0] = '\0';
		return cli_failed(&verb_colocate, "cannot make a folder in %s: %m", base);
	}
	return CLI_DONE;
}

static void remove_folder(const char *path)
{
	DIR *folder = path[0] != '\0' ? opendir(path) : NULL;
	struct dirent *entry;

	if (!folder)
		return;
	while ((entry = readdir(folder)))
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			unlinkat(dirfd(folder), entry->d_name, 0);
	closedir(folder);
	if (rmdir(path) != 0)
		progress_note("cannot remove %s: %m", path);
}

static int world_of(struct colocation *run)
{
	struct simulation simulation;
	int rc = simulation_read(SIMULATION_PATH, &simulation);

	run->time_scale = 1;
	run->bounce_us = NAN;
	if (rc == -ENOENT)
		return CLI_DONE;
	if (rc)
		return cli_failed(&verb_colocate,
				  "%s cannot be understood: %s; use the kfdsim of "
				  "the same build",
				  SIMULATION_PATH, strerror(-rc));
	run->simulated = true;
	run->time_scale = simulation.time_scale;
	run->is_virtual = simulation.is_virtual;
	run->bounce_us = simulation.bounce_us;
	strcpy(run->profile, simulation.profile);
	return CLI_DONE;
}

static int write_file(const char *path, const struct colocation *run, const struct verdict *verdict,
		      bool svg)
{
	FILE *file = fopen(path, "we");
	bool written = false;

	if (file && svg) {
		colocate_svg(run, verdict, file);
		written = true;
	} else if (file) {
		json_t *json = result_json(run, verdict);

		written = json &&
			  json_dumpf(json, file, JSON_INDENT(2) | JSON_REAL_PRECISION(9)) == 0;
		fputc('\n', file);
		json_decref(json);
	}
	if (file && (ferror(file) | fclose(file)))
		written = false;
	return written ? CLI_DONE : cli_failed(&verb_colocate, "cannot write %s: %m", path);
}

static int tell(const struct request *request, const struct colocation *run)
{
	struct verdict verdict;
	int code = CLI_DONE;

	result_judge(run, &verdict);
	if (result_print(run, &verdict, stdout))
		code = cli_failed(&verb_colocate, "no memory for the table");
	if (request->json)
		code |= write_file(request->json, run, &verdict, false);
	if (request->svg)
		code |= write_file(request->svg, run, &verdict, true);
	if (verdict.validity == RESULT_INVALID) {
		fflush(stdout);
		code = cli_failed(&verb_colocate, "the run is not valid: %s", verdict.reason);
	}
	return code;
}

static int measure_arm(struct arm_setup *setup, enum arm arm, struct colocation *run)
{
	int rc = 0;

	for (unsigned i = 0; rc == 0 && i < run->seeds; i++) {
		setup->seed = i + 1;
		rc = arm_run(setup, arm, run);
		if (arm == ARM_ALONE && i > 0)
			run->arms[arm].offline = run->by_seed[0][arm].offline;
		run->by_seed[i][arm] = run->arms[arm];
	}
	return rc;
}

static int measure(const struct request *request, struct arm_setup *setup, struct colocation *run)
{
	int rc = 0;

	for (unsigned arm = 0; rc == 0 && arm < ARM_COUNT; arm++)
		if (request->arms[arm])
			rc = measure_arm(setup, (enum arm)arm, run);
	result_combine(run);
	if (rc == -EINTR)
		return cli_failed(&verb_colocate, "stopped by SIG%s; everything was ended",
				  sigabbrev_np(setup->nursery->stopped_by));
	if (rc == -EOPNOTSUPP)
		return CLI_IMPOSSIBLE;
	return rc ? CLI_FAILED : CLI_DONE;
}

/* In virtual time, where there is no luck with the machine, more arrivals and shorter windows. */
static void set_extent(struct request *request, struct arm_setup *setup, struct colocation *run)
{
	const struct option_number seconds = {20, "20"}, virtual_seconds = {5, "5"};

	if (!request->seconds.text)
		request->seconds = run->is_virtual ? virtual_seconds : seconds;
	if (!request->seeds)
		request->seeds = run->is_virtual ? 5 : 1;
	setup->seconds = request->seconds.text;
	run->seconds = request->seconds.value;
	run->seeds = (unsigned)request->seeds;
}

static int run(int argc, char **argv)
{
	static struct colocation colocation;
	static struct nursery nursery;
	char online[NAME_MAX + 1], offline[NAME_MAX + 1];
	struct request request = {
		.arrivals = "poisson",
		.load.value = NAN,
		.rate.value = NAN,
		.arms = {true, true, true},
	};
	int code = parse(argc, argv, &request);

	if (code != CLI_GO_ON)
		return code;
	struct arm_setup setup = {
		.nursery = &nursery,
		.online = request.online,
		.offline = request.offline,
		.arrivals = request.arrivals,
		.config = request.config,
		.pace = {request.load.text ? "--load" : "--rate",
			 request.load.text ? request.load.text : request.rate.text},
	};

	trace_name(request.online, online, sizeof(online));
	trace_name(request.offline, offline, sizeof(offline));
	colocation = (struct colocation){
		.online = online,
		.offline = offline,
		.arrivals = request.arrivals,
		.load = request.load.value,
		.rate_per_s = request.rate.value,
	};
	code = check_files(&request);
	if (code == CLI_DONE)
		code = find_binaries(&setup);
	if (code == CLI_DONE)
		code = world_of(&colocation);
	if (code)
		return code;
	set_extent(&request, &setup, &colocation);
	if (nursery_open(&nursery))
		return cli_failed(&verb_colocate, "cannot take signals: %m");
	code = make_folder(&setup);
	if (code == CLI_DONE)
		code = measure(&request, &setup, &colocation);
	nursery_empty(&nursery);
	remove_folder(setup.folder);
	nursery_close(&nursery);
	if (code == CLI_DONE)
		code = tell(&request, &colocation);
	for (unsigned i = 0; i < RESULT_SEEDS_MAX; i++)
		request_list_free(&colocation.requests[i]);
	return code;
}

const struct verb verb_colocate = {
	.name = "colocate",
	.summary = "measure what sharing a GPU costs, with and without the scheduler",
	.usage =
		"--online TRACE --offline TRACE [--arms alone,shared,trap] [--load L | --rate R] "
		"[--arrivals poisson|fixed|bursty|file:PATH] [--config FILE] [--seconds S] [--seeds N] [--json FILE] [--svg FILE]",
	.help = "Plays two recorded models at once on one GPU, with real processes, and tells what\n"
		"becomes of the online one's latency and the offline one's throughput. On hardware,\n"
		"or under kfdsim (then every figure is of a simulated GPU, and times are model time:\n"
		"wall time x time scale).\n"
		"\n"
		"  --online TRACE   a trace that is asked for: the same arrivals in every arm\n"
		"  --offline TRACE  a trace that runs as fast as it can, one step after another\n"
		"  --arms LIST      of alone, shared, trap; without it all of them\n"
		"                     alone   online by itself, then offline by itself\n"
		"                     shared  both, without any of ours\n"
		"                     trap    both with libkfdshim.so; a private kfdschedd suspends\n"
		"                             the offline one while the online one has work\n"
		"  --load L         online GPU time x rate, 0.2 by default\n"
		"  --rate R         instead of --load: requests a second (model time)\n"
		"  --arrivals KIND  poisson, as by default; or as kfdreplay --help says: fixed, bursty,\n"
		"                   file:PATH (recorded distances)\n"
		"  --config FILE    the configuration of the private kfdschedd, to compare policies\n"
		"  --seconds S      wall seconds of a measured window: 20, or 5 in virtual time; alone\n"
		"                   takes two windows (each client the full time), the others one\n"
		"  --seeds N        measures each arm so often, with other arrivals: once, or 5 times\n"
		"                   in virtual time; the table shows how far they are apart\n"
		"  --json FILE      the figures; keys as in docs/formats.md\n"
		"  --svg FILE       the figures as a picture\n"
		"\n"
		"A second table shows where the GPU's time went while offline was there, in percent\n"
		"that add up to 100; the sums of all seeds; on hardware only HOLD-OVER is known:\n"
		"  OFFLINE RAN   work of it ran, beside online's or not\n"
		"  ONLINE        work of online ran alone\n"
		"  BOUNCES       the driver took all queues off the GPU and put them back, as it\n"
		"                does for each change\n"
		"  SAVE+RESTORE  of the work that ran at a bounce\n"
		"  DETECTION     offline was suspended, and online had nothing there: its end, or that\n"
		"                a gap in it is one, was not known yet\n"
		"  HOLD-OVER     the same, known, and held on because more of it was expected\n"
		"  IDLE HELD     offline was suspended, and nothing ran of what online had there\n"
		"  OWN GAPS      offline had no work there\n"
		"\n"
		"An online client whose backlog grew throughout does not keep up, and has no\n"
		"percentiles to speak of.\n"
		"The line \"possible\" says what a scheduler could reach that knows the future: it\n"
		"gives each gap between the requests of arm alone to offline that is longer than a\n"
		"resume, and suspends when the next one arrives. Costs: the simulated GPU's, or on\n"
		"hardware the median times of the daemon's calls.\n"
		"In real time a simulated run is valid if the P99 doorbell delay x time scale is at most 5 % of\n"
		"the online P50 alone, and that P50 at most twice what the trace's GPU time and\n"
		"the load explain; if it is not, the exit code is 1.\n"
		"\n"
		"Examples:\n"
		"  kfdsim --gpu mi210 --virtual -- kfdsched colocate \\\n"
		"      --online traces/online_resnet50_b1.csv \\\n"
		"      --offline traces/offline_gpt2m_train_8x1024.csv --svg report.svg\n"
		"  kfdsched colocate --online serve.csv --offline train.csv --arms alone,trap \\\n"
		"      --load 0.4 --seconds 60 --json report.json\n",
	.run = run,
};
