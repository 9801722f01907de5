// SPDX-License-Identifier: MIT
/*
 * kfdsched colocate: measures how online and offline processes affect each other on one GPU.
 *
 * Checks the arguments and files, finds the binaries, reads the facts of the simulation, runs each
 * arm (a configuration to compare, arm.h) with each seed, combines the results of the seeds
 * (result.h), and prints them.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>
#include <unistd.h>

#include "channel/protocol.h"
#include "cli/colocate/arm.h"
#include "cli/util/parse_options.h"

struct run_request {
	/* Paths of the traces. `count` is how often the option was given. Until check_count() it
	 * may exceed RESULT_CLIENTS_MAX. */
	struct client_set online, offline;
	const char *arrivals;
	const char *config;
	const char *json, *svg;			  /* output files; "-": stdout; NULL: none */
	struct option_number load, rate, seconds; /* .text NULL: not given */
	unsigned long seeds;			  /* 0: not given */
	bool arms[ARM_COUNT];
};

/* Parses a list of arms (configurations to compare), separated by commas. Returns 0, or -EINVAL if
 * an arm is not known. */
static int read_arms(const char *text, void *into)
{
	bool *arms = into;

	memset(arms, 0, ARM_COUNT * sizeof(arms[0]));
	for (const char *name = text;; name += strcspn(name, ",") + 1) {
		size_t length = strcspn(name, ",");
		unsigned arm = 0;

		while (arm < ARM_COUNT && (strlen(arm_kinds[arm].name) != length ||
					   strncmp(arm_kinds[arm].name, name, length) != 0))
			arm++;
		if (arm == ARM_COUNT)
			return -EINVAL;
		arms[arm] = true;
		if (name[length] == '\0')
			return 0;
	}
}

/* Adds a trace to the clients of a kind. Traces beyond RESULT_CLIENTS_MAX are only counted. */
static int read_client(const char *text, void *into)
{
	struct client_set *set = into;

	if (text[0] == '\0')
		return -EINVAL;
	if (set->count < RESULT_CLIENTS_MAX)
		set->traces[set->count] = text;
	set->count++;
	return 0;
}

/* Stores the group of the --offline before it on the command line. Returns 0 or -EINVAL. */
static int read_group(const char *text, void *into)
{
	struct client_set *set = into;
	size_t length = strlen(text);

	if (set->count == 0 || length == 0 || length >= PROTOCOL_GROUP_MAX)
		return -EINVAL;
	if (set->count <= RESULT_CLIENTS_MAX)
		set->groups[set->count - 1] = text;
	return 0;
}

/* Returns the path of arrivals "file:PATH"; NULL for any other kind of arrivals. */
static const char *arrivals_file(const struct run_request *request)
{
	return strncmp(request->arrivals, "file:", 5) == 0 ? request->arrivals + 5 : NULL;
}

static int check_input(const char *what, const char *path)
{
	if (!path || access(path, R_OK) == 0)
		return CLI_DONE;
	return cli_failed(&cmd_colocate, "cannot read %s %s: %m", what, path);
}

static bool is_stdout(const char *path)
{
	return path && strcmp(path, "-") == 0;
}

/* Checks that inputs can be read and outputs written, before a measurement that takes minutes. */
static int check_files(const struct run_request *request)
{
	const char *const outputs[] = {request->json, request->svg};
	int code = CLI_DONE;

	for (unsigned i = 0; !code && i < request->online.count; i++)
		code = check_input("the trace", request->online.traces[i]);
	for (unsigned i = 0; !code && i < request->offline.count; i++)
		code = check_input("the trace", request->offline.traces[i]);
	if (!code)
		code = check_input("the arrivals", arrivals_file(request));
	if (!code)
		code = check_input("the configuration", request->config);
	for (unsigned i = 0; !code && i < 2; i++)
		if (outputs[i] && !is_stdout(outputs[i]))
			code = cli_check_output(&cmd_colocate, outputs[i]);
	return code;
}

/* Checks and stores the kind of arrivals, which kfdreplay parses. Returns 0 or -EINVAL. */
static int read_arrivals(const char *text, void *into)
{
	static const char *const kinds[] = {"poisson", "fixed", "bursty"};

	*(const char **)into = text;
	for (unsigned i = 0; i < 3; i++)
		if (strcmp(text, kinds[i]) == 0)
			return 0;
	return strncmp(text, "file:", 5) == 0 && text[5] ? 0 : -EINVAL;
}

/* Checks how many clients of a kind there are. Returns 0 or CLI_USAGE. */
static int check_count(const char *kind, const struct client_set *set)
{
	if (set->count == 0)
		return cli_usage(&cmd_colocate, "no --%s trace", kind);
	if (set->count > RESULT_CLIENTS_MAX)
		return cli_usage(&cmd_colocate, "--%s can be given %u times, not %u", kind,
				 RESULT_CLIENTS_MAX, set->count);
	return 0;
}

static int parse(int argc, char **argv, struct run_request *out)
{
	const struct cli_option options[] = {
		{OPTION_READ("online", &out->online, read_client, "a trace")},
		{OPTION_READ("offline", &out->offline, read_client, "a trace")},
		{OPTION_READ("group", &out->offline, read_group,
			     "a name of 1 to 63 bytes, after the --offline to which it applies")},
		{OPTION_READ("arms", out->arms, read_arms,
			     "a list of alone, shared, trap, self, gate and peers")},
		{OPTION_READ("arrivals", &out->arrivals, read_arrivals,
			     "poisson, fixed, bursty or file:PATH")},
		{OPTION_NUMBER("load", &out->load, 0, "a share of GPU time such as 0.2")},
		{OPTION_NUMBER("rate", &out->rate, 0, "requests per second")},
		{OPTION_NUMBER("seconds", &out->seconds, 86400, "seconds, at most a day")},
		{OPTION_COUNT("seeds", &out->seeds, 1, RESULT_SEEDS_MAX, "a number, 1 to 32")},
		{OPTION_TEXT("config", &out->config)},
		{OPTION_JSON_FILE(&out->json)},
		{OPTION_TEXT("svg", &out->svg)},
		{0},
	};
	int code = options_read(&cmd_colocate, argc, argv, options);

	if (code != CLI_GO_ON)
		return code;
	if (check_count("online", &out->online) || check_count("offline", &out->offline))
		return CLI_USAGE;
	if (out->load.text && out->rate.text)
		return cli_usage(&cmd_colocate, "--load and --rate exclude each other");
	if (!out->load.text && !out->rate.text)
		out->load = (struct option_number){0.2, "0.2"};
	return CLI_GO_ON;
}

/* Names of the clients, from the names of their traces: "traces/online_x.csv" is online_x. */
struct arm_names {
	char traces[RESULT_CLIENTS_MAX][NAME_MAX + 1];
	char title[1024];
};

/* Writes the name of a trace: its file name without the extension. */
static void trace_name(const char *path, char *name, size_t size)
{
	const char *slash = strrchr(path, '/');

	snprintf(name, size, "%s", slash ? slash + 1 : path);
	char *dot = strrchr(name, '.');

	if (dot && dot != name)
		*dot = '\0';
}

/* Fills *out with the names of the clients of one kind, which are stored in *names. Returns the
 * title for all of them. */
static const char *name_clients(const struct client_set *paths, struct arm_names *names,
				struct client_set *out)
{
	*out = *paths;
	for (unsigned i = 0; i < paths->count; i++) {
		trace_name(paths->traces[i], names->traces[i], sizeof(names->traces[i]));
		out->traces[i] = names->traces[i];
	}
	return result_title(out, names->title, sizeof(names->title));
}

/* Finds the programs and the shim of this build. */
static int find_binaries(struct arm_setup *setup)
{
	return cli_need(&cmd_colocate, "kfdreplay", false, setup->replay) ||
			       cli_need(&cmd_colocate, "kfdschedd", false, setup->daemon) ||
			       cli_need(&cmd_colocate, "libkfdshim.so", true, setup->shim)
		       ? CLI_FAILED
		       : CLI_DONE;
}

/* Longest path of a peer's socket in the private directory: PID and start time. */
#define PEER_SOCKET "/" ARM_PEERS_DIR "/4194304-999999999999.socket"

/* Makes the private directory for the sockets of the daemon and of peers, and for the clients'
 * output. A path of a socket is limited by sun_path (108 bytes), so a long TMPDIR is an error.
 * `longest`: bytes of the longest path within the directory. */
static int make_dir(struct arm_setup *setup, size_t longest)
{
	const char *base = cli_temporary();
	size_t room = sizeof(((struct sockaddr_un *)0)->sun_path) - longest;

	snprintf(setup->directory, sizeof(setup->directory), "%s/kfdsched-XXXXXX", base);
	if (strlen(setup->directory) > room)
		return cli_failed(&cmd_colocate,
				  "the path of a socket in %s would be too long: set a shorter "
				  "TMPDIR",
				  base);
	if (!mkdtemp(setup->directory)) {
		setup->directory[0] = '\0';
		return cli_failed(&cmd_colocate, "cannot create a directory in %s: %m", base);
	}
	return CLI_DONE;
}

/* Reads the facts of the simulation into `run`. Without simulation.json the GPU is hardware. */
static int read_simulation(struct colocation *run)
{
	struct simulation simulation;
	int rc = simulation_read(SIMULATION_PATH, &simulation);

	run->time_scale = 1;
	run->update_us = NAN;
	if (rc == -ENOENT)
		return CLI_DONE;
	if (rc)
		return cli_failed(&cmd_colocate,
				  "%s cannot be parsed: %s; use the kfdsim of the same build",
				  SIMULATION_PATH, strerror(-rc));
	run->simulated = true;
	run->time_scale = simulation.time_scale;
	run->is_virtual = simulation.is_virtual;
	run->update_us = simulation.update_us;
	strcpy(run->profile, simulation.profile);
	return CLI_DONE;
}

/* Writes the result to a file, or to stdout for "-": as SVG, or as JSON. Returns the exit code. */
static int write_file(const char *path, const struct colocation *run,
		      const struct result_verdict *verdict, bool svg)
{
	json_t *json = svg ? NULL : result_json(run, verdict);
	FILE *file;
	int code;

	fflush(stdout); /* the table comes first */
	file = is_stdout(path) ? fdopen(dup(STDOUT_FILENO), "w") : fopen(path, "we");
	if (file && svg)
		colocate_svg(run, verdict, file);
	else if (file && !json_dumpf(json, file, JSON_INDENT(2) | JSON_REAL_PRECISION(9)))
		fputc('\n', file);
	code = cli_close_output(&cmd_colocate, path, file);
	json_decref(json);
	return code;
}

/* Prints the table, writes JSON and SVG, and reports an invalid run as a failure. */
static int report_request(const struct run_request *request, const struct colocation *run)
{
	struct result_verdict verdict;
	int code = CLI_DONE;

	result_evaluate(run, &verdict);
	if (!is_stdout(request->json))
		result_print(run, &verdict, stdout);
	if (request->json)
		code |= write_file(request->json, run, &verdict, false);
	if (request->svg)
		code |= write_file(request->svg, run, &verdict, true);
	if (verdict.validity == RESULT_INVALID) {
		fflush(stdout);
		code = cli_failed(&cmd_colocate, "the run is not valid: %s", verdict.reason);
	}
	return code;
}

/* Copies the results of the offline clients. */
static void copy_offline(const struct arm_stats *from, struct arm_stats *to)
{
	to->offline = from->offline;
	memcpy(to->offline_of, from->offline_of, sizeof(to->offline_of));
}

/* Runs an arm (a configuration to compare) once for each seed. In ARM_ALONE the offline clients run
 * only with the first seed, and their result is used for all seeds. */
static int measure_arm(struct arm_setup *setup, enum arm arm, struct colocation *run)
{
	int rc = 0;

	for (unsigned i = 0; rc == 0 && i < run->seeds; i++) {
		setup->seed = i + 1;
		rc = arm_run(setup, arm, run);
		if (arm == ARM_ALONE && i > 0)
			copy_offline(&run->by_seed[0][arm], &run->arms[arm]);
		run->by_seed[i][arm] = run->arms[arm];
	}
	return rc;
}

/* Runs the chosen arms (configurations to compare). Returns the exit code. */
static int measure(const struct run_request *request, struct arm_setup *setup,
		   struct colocation *run)
{
	int rc = 0;

	for (unsigned arm = 0; rc == 0 && arm < ARM_COUNT; arm++)
		if (request->arms[arm])
			rc = measure_arm(setup, (enum arm)arm, run);
	result_combine(run);
	if (rc == -EINTR)
		return cli_failed(&cmd_colocate, "stopped by SIG%s; all processes were ended",
				  sigabbrev_np(setup->children->stopped_by));
	if (rc == -EOPNOTSUPP)
		return CLI_IMPOSSIBLE;
	return rc ? CLI_FAILED : CLI_DONE;
}

/* Sets the number of seeds and the window's length where the user has not. In virtual time the
 * results do not depend on the machine's timing, so the default is shorter windows, and more seeds
 * (different arrivals) instead. */
static void set_extent(struct run_request *request, struct arm_setup *setup, struct colocation *run)
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

/* Sets the load or rate of each online client: an equal part of the whole. `text`: buffer for the
 * value, which must stay valid until the run ends. */
static void set_pace(const struct run_request *request, struct arm_setup *setup, char *text,
		     size_t size)
{
	const struct option_number *pace = request->load.text ? &request->load : &request->rate;

	setup->pace[0] = request->load.text ? "--load" : "--rate";
	setup->pace[1] = pace->text;
	if (request->online.count == 1)
		return;
	snprintf(text, size, "%.9g", pace->value / request->online.count);
	setup->pace[1] = text;
}

/* Measures with the process group open and in a private directory. All children are ended before
 * the directory is removed, because they write into it. */
static int measure_all(const struct run_request *request, struct arm_setup *setup,
		       struct colocation *run)
{
	int code;

	if (process_group_open(setup->children))
		return cli_failed(&cmd_colocate, "cannot handle signals: %m");
	code = make_dir(setup, request->arms[ARM_PEERS] ? sizeof(PEER_SOCKET) : sizeof("/socket"));
	if (code == CLI_DONE)
		code = measure(request, setup, run);
	process_group_empty(setup->children);
	cli_remove(setup->directory);
	process_group_close(setup->children);
	return code;
}

static void free_requests(struct colocation *run)
{
	for (unsigned seed = 0; seed < RESULT_SEEDS_MAX; seed++)
		for (unsigned i = 0; i < RESULT_CLIENTS_MAX; i++)
			request_list_free(&run->requests[seed][i]);
}

static int run(int argc, char **argv)
{
	static struct colocation colocation;
	static struct process_group children;
	struct arm_names online, offline;
	char pace[32];
	struct run_request request = {
		.arrivals = "poisson",
		.load.value = NAN,
		.rate.value = NAN,
	};
	int code;

	for (unsigned i = 0; i < ARM_COUNT; i++)
		request.arms[i] = arm_kinds[i].by_default;
	code = parse(argc, argv, &request);

	if (code != CLI_GO_ON)
		return code;
	struct arm_setup setup = {
		.children = &children,
		.online = &request.online,
		.offline = &request.offline,
		.arrivals = request.arrivals,
		.config = request.config,
	};

	colocation = (struct colocation){
		.arrivals = request.arrivals,
		.load = request.load.value,
		.rate_per_s = request.rate.value,
	};
	colocation.online = name_clients(&request.online, &online, &colocation.online_clients);
	colocation.offline = name_clients(&request.offline, &offline, &colocation.offline_clients);
	set_pace(&request, &setup, pace, sizeof(pace));
	code = check_files(&request);
	if (code == CLI_DONE)
		code = find_binaries(&setup);
	if (code == CLI_DONE)
		code = read_simulation(&colocation);
	if (code)
		return code;
	set_extent(&request, &setup, &colocation);
	code = measure_all(&request, &setup, &colocation);
	if (code == CLI_DONE)
		code = report_request(&request, &colocation);
	free_requests(&colocation);
	return code;
}

const struct cli_command cmd_colocate = {
	.name = "colocate",
	.summary = "measure the cost of sharing a GPU, with and without the scheduler",
	.usage =
		"--online TRACE... --offline TRACE [--group G]... [--arms LIST] [--load L | --rate R] "
		"[--arrivals poisson|fixed|bursty|file:PATH] [--config FILE] [--seconds S] [--seeds N] [--json [FILE]] [--svg FILE]",
	.help = "Replays recorded models at the same time on one GPU, with real processes, and reports the\n"
		"latency of the online processes and the throughput of the offline processes. Runs on\n"
		"hardware or under kfdsim (then all values are of a simulated GPU, and times are model\n"
		"time: wall time x time scale).\n"
		"\n"
		"  --online TRACE   a trace whose requests arrive at given times, the same in every arm; up\n"
		"                   to 8 times, each a separate process with separate arrivals\n"
		"  --offline TRACE  a trace that runs as fast as possible, one step after another; up to 8\n"
		"                   times\n"
		"  --group G        the group (KFDSHIM_GROUP) of the --offline before it: the clients of a\n"
		"                   group are suspended and resumed together\n"
		"  --arms LIST      a list of these, separated by commas; default: alone,shared,trap\n"
		"                     alone   each online client by itself, then all offline clients\n"
		"                             together; OF ALONE is relative to this throughput\n"
		"                     shared  all clients, without kfdshim\n"
		"                     trap    all clients with libkfdshim.so; a private kfdschedd suspends\n"
		"                             the offline clients while an online client has work\n"
		"                     self    as trap, but the offline clients suspend themselves\n"
		"                             (KFDSHIM_LEVEL=self) when kfdschedd commands it\n"
		"                     gate    as self, but the offline clients submit no more work\n"
		"                             (KFDSHIM_LEVEL=gate); submitted work continues\n"
		"                     peers   level self without kfdschedd: the processes find each\n"
		"                             other; values that kfdschedd counts are -\n"
		"  --load L         online GPU time x rate, default 0.2; the sum of all online clients,\n"
		"                   which have equal parts\n"
		"  --rate R         instead of --load: requests per second (model time), likewise a sum\n"
		"  --arrivals KIND  poisson (default), or as in kfdreplay --help: fixed, bursty, file:PATH\n"
		"                   (recorded intervals; each client begins at a different one)\n"
		"  --config FILE    the configuration of the private kfdschedd, to compare policies\n"
		"  --seconds S      wall seconds of a measured window: 20, or 5 in virtual time; arm alone\n"
		"                   has one window per online client and one for the offline clients,\n"
		"                   the other arms have one\n"
		"  --seeds N        number of runs of each arm, with different arrivals: default 1, or 5\n"
		"                   in virtual time; the table shows their spread\n"
		"  --json [FILE]    writes the results; docs/reference/colocate.md describes the keys.\n"
		"                   Without FILE, or with -: to stdout, without the table\n"
		"  --svg FILE       plots the results\n"
		"\n"
		"If an arm has several online or offline clients, its row is of all of them: percentiles of\n"
		"all requests, and steps that are weighted by GPU time, where 1 is the mean of the clients'\n"
		"steps. So OF ALONE is the sum of the clients' shares of alone, weighted by the part of the\n"
		"offline GPU time that a client has alone. The rows below it are of single clients.\n"
		"\n"
		"A second table shows how the GPU's time was spent while offline clients ran, in percent\n"
		"that add up to 100, summed over all seeds; on hardware only HOLD-OVER is known:\n"
		"  OFFLINE RAN   offline work ran, alone or beside online work; with several offline\n"
		"                clients the sum of their parts: of k concurrent processes each has 1/k\n"
		"  ONLINE        other work ran: the rest of the time in which work ran\n"
		"  BOUNCES       runlist updates: the driver unmaps and maps all queues, as it does for\n"
		"                each change\n"
		"  SAVE+RESTORE  of the work that ran at a bounce\n"
		"  DETECTION     offline was suspended, and online had no work: the end of its work, or\n"
		"                a gap in it, was not detected yet\n"
		"  HOLD-OVER     the same, detected, but held because more online work was expected\n"
		"  IDLE HELD     offline was suspended, and no online work ran although there was some\n"
		"  OWN GAPS      offline had no work\n"
		"At level gate no queue is suspended, so the last four cannot be distinguished; in arm peers\n"
		"DETECTION and HOLD-OVER cannot.\n"
		"\n"
		"An online client whose backlog grows throughout does not keep up; its percentiles have no\n"
		"meaning.\n"
		"The lines \"floor\" give the lowest possible P99 of a level, relative to P99 alone: where the\n"
		"driver preempts, two bounces and a save more, because a request that arrives when a resume\n"
		"has just begun waits for the resume, too; at level gate nothing more.\n"
		"The line \"possible\" gives the result of an ideal scheduler that knows all arrivals: it\n"
		"resumes offline work in each gap between the requests of arm alone that is longer than a\n"
		"resume, and suspends it when the next request arrives. Costs are those of the simulated GPU,\n"
		"or on hardware the median times of the daemon's calls. It processes the requests of several\n"
		"online clients one by one; on a GPU they may run concurrently.\n"
		"In real time a simulated run is valid if the P99 doorbell delay x time scale is at most 5 % of\n"
		"the online P50 alone, and that P50 at most twice what the trace's GPU time and\n"
		"the load explain; if it is not, the exit code is 1.\n"
		"\n"
		"Examples:\n"
		"  kfdsim --gpu mi210 --virtual -- kfdsched colocate \\\n"
		"      --online traces/online_resnet50_b1.csv \\\n"
		"      --offline traces/offline_gpt2m_train_8x1024.csv --svg report.svg\n"
		"  kfdsched colocate --online chat.csv --online search.csv \\\n"
		"      --offline rank0.csv --group job --offline rank1.csv --group job \\\n"
		"      --arms alone,trap --load 0.4 --seconds 60 --json report.json\n",
	.run = run,
};
