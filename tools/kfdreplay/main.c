// SPDX-License-Identifier: MIT
// kfdreplay: plays a recorded model trace through the real HSA runtime, or HIP.
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#include "common/parse.h"
#include "common/version.h"
#include "tools/kfdreplay/run.h"

#define SIM_INFO_FILE "/sys/class/kfd/kfd/simulation.json"
#define DEFAULT_SEED 1u
#define RATE_MAX 1e6
#define FILE_PREFIX "file:"
#define REPORT_STDOUT "-"

enum { GO_ON = -1 };

struct arguments {
	const char *trace;
	const char *json;
	const char *request_times;
	const struct rt_api *api;
	unsigned device;
	double load; /* 0: not given */
	bool closed, arrivals_given;
	enum arrivals_kind arrivals;
	const char *arrivals_file; /* ARRIVALS_RECORDED only */
	uint64_t seed;
	struct run_options run;
};

/* The machine of the run: hardware, or a simulation by kfdsim. */
struct sim_info {
	bool simulated;
	double time_scale; /* model time / wall time; 1 on hardware */
};

/* Everything that a report contains; not owned. */
struct replay_report {
	const char *trace; /* name of the trace */
	const char *api;   /* "hsa" or "hip" */
	const char *gpu_name;
	const struct sim_info *sim_info;
	const struct plan *plan;
	const struct run_options *options;
	const struct run_result *result;
	struct stats_summary latency;
};

static const char usage_line[] =
	"usage: kfdreplay --trace FILE.csv [--api hsa|hip] [--requests N | --seconds S] "
	"[--closed | --rate R | --load L] [--arrivals poisson|fixed|bursty|file:PATH] "
	"[--seed N] [--spacing none|recorded] [--count] [--device D] [--json [FILE]] "
	"[--request-times FILE] [--sync-fd R:W]";

static const char help_text[] =
	"\n"
	"Replays a recorded model trace through the GPU's runtime: every row is a dispatch or a\n"
	"copy, every `sync` completes a request. On a GPU, or under kfdsim.\n"
	"\n"
	"  --trace FILE.csv   the recording (traces/README.md describes the format)\n"
	"  --api API          hsa (default), or hip: the newest libamdhip64 that is installed\n"
	"  --requests N       end after N requests (default: the trace once)\n"
	"  --seconds S        end after S seconds of wall time\n"
	"  --closed           the next request begins when the last is done (default)\n"
	"  --rate R           requests arrive R times a second, of model time\n"
	"  --load L           ... at the rate that needs the share L of the GPU's time\n"
	"  --arrivals KIND    poisson (default); fixed intervals; bursty: poisson for 200 ms, none\n"
	"                     for 300 ms; file:PATH: intervals from a file, in microseconds, one\n"
	"                     per line, scaled to the rate\n"
	"  --seed N           of the arrivals (default 1)\n"
	"  --spacing KIND     none (default): submit as fast as the runtime takes it;\n"
	"                     recorded: no earlier than in the recording\n"
	"  --count            every workgroup counts in a cell of its own; checked\n"
	"  --device D         GPU number (default 0)\n"
	"  --json [FILE]      write the result (docs/reference/kfdreplay.md); without FILE, or\n"
	"                     with -, to standard output, without text\n"
	"  --request-times FILE  when each request arrived, began and ended, as CSV\n"
	"                     (docs/reference/kfdreplay.md); for --rate or --load\n"
	"  --sync-fd R:W      when ready write a byte to descriptor W, and begin after a\n"
	"                     byte or the end of the file on R\n"
	"  --help             this text\n"
	"  --version          prints release, commit and protocol\n"
	"\n"
	"Latency counts from the scheduled arrival. Model time is wall time x the time\n"
	"scale of kfdsim; on hardware the two are one. SIGTERM ends the run early and\n"
	"leaves a result. Exit code: 0 done, 1 failed, 2 wrong use, 77 no GPU for it.\n";

__attribute__((format(printf, 1, 2))) static int wrong_use(const char *format, ...)
{
	va_list arguments;

	fprintf(stderr, "kfdreplay: ");
	va_start(arguments, format);
	vfprintf(stderr, format, arguments);
	va_end(arguments);
	fprintf(stderr, "; %s\n", usage_line);
	return EXIT_USAGE;
}

void fail(int status, const char *format, ...)
{
	va_list arguments;

	fprintf(stderr, "kfdreplay: ");
	va_start(arguments, format);
	vfprintf(stderr, format, arguments);
	va_end(arguments);
	fputc('\n', stderr);
	fflush(NULL);
	_exit(status);
}

void rt_check_device(unsigned device, unsigned devices)
{
	if (device < devices)
		return;
	wrong_use("--device: no device %u: there %s %u GPU%s, counted from 0", device,
		  devices == 1 ? "is" : "are", devices, devices == 1 ? "" : "s");
	_exit(EXIT_USAGE);
}

size_t rt_cells_bytes(const struct plan *plan)
{
	size_t bytes = (plan->max_cells ? plan->max_cells : 1) * sizeof(uint32_t);

	if (bytes > RT_CELLS_BYTES_MAX)
		fail(EXIT_FAILURE, "--count would need %zu MiB of cells for one request",
		     bytes >> 20);
	return bytes;
}

static bool parse_count(const char *text, uint64_t max, uint64_t *out)
{
	return parse_uint(text, out) && *out <= max;
}

static bool parse_positive(const char *text, double max, double *out)
{
	char *end;

	if ((*text < '0' || *text > '9') && *text != '.')
		return false;
	errno = 0;
	*out = strtod(text, &end);
	return errno == 0 && end != text && *end == 0 && *out > 0 && *out <= max;
}

static bool parse_descriptors(const char *text, struct run_options *run)
{
	const char *colon = strchr(text, ':');
	char first[16];
	uint64_t r, w;

	if (!colon || (size_t)(colon - text) >= sizeof(first))
		return false;
	memcpy(first, text, (size_t)(colon - text));
	first[colon - text] = 0;
	if (!parse_count(first, INT32_MAX, &r) || !parse_count(colon + 1, INT32_MAX, &w))
		return false;
	run->sync_read = (int)r;
	run->sync_write = (int)w;
	return true;
}

static const struct option options[] = {
	{"trace", required_argument, NULL, 't'},
	{"api", required_argument, NULL, 'a'},
	{"requests", required_argument, NULL, 'r'},
	{"seconds", required_argument, NULL, 's'},
	{"closed", no_argument, NULL, 'c'},
	{"rate", required_argument, NULL, 'R'},
	{"load", required_argument, NULL, 'l'},
	{"arrivals", required_argument, NULL, 'A'},
	{"seed", required_argument, NULL, 'e'},
	{"spacing", required_argument, NULL, 'p'},
	{"count", no_argument, NULL, 'n'},
	{"device", required_argument, NULL, 'd'},
	{"json", optional_argument, NULL, 'j'},
	{"request-times", required_argument, NULL, 'T'},
	{"sync-fd", required_argument, NULL, 'f'},
	{"help", no_argument, NULL, 'h'},
	{NULL, 0, NULL, 0},
};

static bool parse_arrivals(const char *text, struct arguments *a)
{
	static const char *const names[] = {"poisson", "fixed", "bursty"}; /* enum arrivals_kind */

	a->arrivals_given = true;
	for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(text, names[i]) == 0) {
			a->arrivals = (enum arrivals_kind)i;
			a->arrivals_file = NULL;
			return true;
		}
	a->arrivals = ARRIVALS_RECORDED;
	a->arrivals_file = text + strlen(FILE_PREFIX);
	return strncmp(text, FILE_PREFIX, strlen(FILE_PREFIX)) == 0 && *a->arrivals_file;
}

/* Stores the value of an option in *a. Returns NULL, or a description of the valid values if the
 * value is not valid. */
static const char *take_option(int option, const char *value, struct arguments *a)
{
	uint64_t number = 0;

	switch (option) {
	case 't':
		a->trace = value;
		return NULL;
	case 'a':
		a->api = strcmp(value, rt_by_hip.name) == 0 ? &rt_by_hip : &rt_by_hsa;
		return strcmp(value, a->api->name) == 0 ? NULL : "hsa or hip";
	case 'j':
		a->json = value ? value : REPORT_STDOUT;
		return NULL;
	case 'T':
		a->request_times = value;
		return NULL;
	case 'c':
		a->closed = true;
		return NULL;
	case 'n':
		a->run.count = true;
		return NULL;
	case 'r':
		return parse_count(value, INT64_MAX, &a->run.requests) && a->run.requests
			       ? NULL
			       : "a number of requests, at least 1";
	case 's':
		return parse_positive(value, 1e7, &a->run.seconds) ? NULL : "seconds above 0";
	case 'R':
		return parse_positive(value, RATE_MAX, &a->run.rate_per_s)
			       ? NULL
			       : "a rate above 0 and up to 1000000";
	case 'l':
		return parse_positive(value, 1e3, &a->load) ? NULL : "a share of time above 0";
	case 'A':
		return parse_arrivals(value, a) ? NULL : "poisson, fixed, bursty or file:PATH";
	case 'e':
		return parse_count(value, UINT64_MAX, &a->seed) ? NULL : "a whole number";
	case 'p':
		a->run.spaced = strcmp(value, "recorded") == 0;
		return a->run.spaced || strcmp(value, "none") == 0 ? NULL : "none or recorded";
	case 'd':
		if (!parse_count(value, 4095, &number))
			return "the number of a GPU, from 0";
		a->device = (unsigned)number;
		return NULL;
	case 'f':
		return parse_descriptors(value, &a->run) ? NULL
							 : "two file descriptors, such as 3:4";
	default:
		return NULL;
	}
}

/* Returns GO_ON, or the exit code. */
static int parse(int argc, char **argv, struct arguments *a)
{
	int option, index = 0;

	opterr = 0;
	while ((option = getopt_long(argc, argv, ":", options, &index)) != -1) {
		const char *wanted;

		if (option == ':')
			return wrong_use("%s needs a value", argv[optind - 1]);
		if (option == '?')
			return wrong_use("unknown option %s", argv[optind - 1]);
		if (option == 'h') {
			printf("%s\n%s", usage_line, help_text);
			return EXIT_SUCCESS;
		}
		/* The argument after --json is its file, unless that argument is an option. */
		if (option == 'j' && !optarg && optind < argc &&
		    (argv[optind][0] != '-' || !argv[optind][1]))
			optarg = argv[optind++];
		wanted = take_option(option, optarg, a);
		if (wanted)
			return wrong_use("--%s: '%s' is not %s", options[index].name, optarg,
					 wanted);
	}
	if (optind < argc)
		return wrong_use("unexpected argument '%s'", argv[optind]);
	if (!a->trace)
		return wrong_use("no recording given: --trace is missing");
	if (a->run.requests && a->run.seconds > 0)
		return wrong_use("--requests and --seconds exclude each other");
	if (a->closed + (a->run.rate_per_s > 0) + (a->load > 0) > 1)
		return wrong_use("--closed, --rate and --load exclude each other");
	a->run.open_loop = a->run.rate_per_s > 0 || a->load > 0;
	if (a->arrivals_given && !a->run.open_loop)
		return wrong_use("--arrivals is for --rate or --load");
	if (a->request_times && !a->run.open_loop)
		return wrong_use("--request-times is for --rate or --load");
	return GO_ON;
}

/* Reads kfdsim's simulation.json. Without such a file the machine is taken as hardware. */
static void sim_info_read(struct sim_info *out)
{
	json_error_t error;
	json_t *json;

	*out = (struct sim_info){.time_scale = 1};
	if (access(SIM_INFO_FILE, F_OK) != 0 && (errno == ENOENT || errno == ENOTDIR))
		return;
	json = json_load_file(SIM_INFO_FILE, 0, &error);
	if (!json)
		fail(EXIT_FAILURE, "%s: %s", SIM_INFO_FILE, error.text);
	if (json_unpack(json, "{s:b, s:F}", "simulated", &out->simulated, "time_scale",
			&out->time_scale) ||
	    !(out->time_scale > 0))
		fail(EXIT_FAILURE, "%s: no time_scale above 0 in it", SIM_INFO_FILE);
	json_decref(json);
}

/* ---- report ---- */

static double busy_ratio(const struct run_result *result)
{
	return result->seconds > 0 ? result->busy_ns / 1e9 / result->seconds : 0;
}

/* Returns the requested rate, or in a closed loop the rate that resulted. */
static double rate(const struct replay_report *report)
{
	const struct run_result *result = report->result;

	if (report->options->open_loop)
		return report->options->rate_per_s;
	return result->seconds > 0 ? (double)result->stats.count / result->seconds : 0;
}

static uint64_t backlog(const struct replay_report *report)
{
	const struct run_result *result = report->result;

	return report->options->open_loop ? result->arrived - result->stats.count : 0;
}

static json_t *latency_json(const struct stats_summary *l)
{
	return json_pack("{s:f, s:f, s:f, s:f, s:f, s:f}", "mean", l->mean_us, "p50", l->p50_us,
			 "p90", l->p90_us, "p99", l->p99_us, "p999", l->p999_us, "max", l->max_us);
}

static json_t *count_json(const struct replay_report *report)
{
	const struct run_result *result = report->result;

	if (!report->options->count)
		return json_null();
	return json_pack("{s:I, s:I, s:I, s:I}", "submitted", (json_int_t)result->count.submitted,
			 "executed", (json_int_t)result->count.executed, "twice",
			 (json_int_t)result->count.twice, "never", (json_int_t)result->count.never);
}

static json_t *report_json(const struct replay_report *report)
{
	const struct run_result *result = report->result;
	const struct run_options *run = report->options;

	return json_pack("{s:s, s:s, s:b, s:f, s:s, s:s, s:I, s:I, s:f, s:f, s:f, s:f, s:f, s:o, "
			 "s:b, s:I, s:o}",
			 "trace", report->trace, "api", report->api, "simulated",
			 report->sim_info->simulated, "time_scale", report->sim_info->time_scale,
			 "agent", report->gpu_name, "mode", run->open_loop ? "open" : "closed",
			 "requests", (json_int_t)result->stats.count, "arrived",
			 (json_int_t)result->arrived, "steps", result->steps, "seconds",
			 result->seconds, "gpu_us_per_request", report->plan->mean_ns / 1e3,
			 "gpu_busy_ratio", busy_ratio(result), "rate_per_s", rate(report),
			 "latency_us", latency_json(&report->latency), "keeps_up", result->keeps_up,
			 "backlog", (json_int_t)backlog(report), "count", count_json(report));
}

/* Writes the report as JSON to a file, or to stdout (REPORT_STDOUT). */
static void report_write_json(const struct replay_report *report, const char *path)
{
	json_t *json = report_json(report);
	bool to_stdout = strcmp(path, REPORT_STDOUT) == 0;
	FILE *file = !json ? NULL : to_stdout ? stdout : fopen(path, "we");
	bool good = file && json_dumpf(json, file, JSON_INDENT(2) | JSON_REAL_PRECISION(12)) == 0 &&
		    fputc('\n', file) != EOF;
	int error = errno;

	if (file && (to_stdout ? fflush(file) : fclose(file)) != 0 && good) {
		error = errno;
		good = false;
	}
	if (!good)
		fail(EXIT_FAILURE, "%s: cannot be written: %s", path,
		     json ? strerror(error) : "out of memory");
	json_decref(json);
}

static void report_print(const struct replay_report *report)
{
	const struct run_result *result = report->result;
	const struct stats_summary *l = &report->latency;

	printf("%s on %s", report->trace, report->gpu_name);
	if (report->sim_info->simulated)
		printf(" (simulated, time scale %g: all times are model time)",
		       report->sim_info->time_scale);
	printf("\n%zu requests in %.3f s, GPU busy %.1f %%", result->stats.count, result->seconds,
	       busy_ratio(result) * 100);
	if (report->options->open_loop)
		printf(", %.1f/s arriving, %" PRIu64 " arrived", report->options->rate_per_s,
		       result->arrived);
	printf("\n");
	if (!result->keeps_up)
		printf("does not keep up: %" PRIu64 " waiting at the end, so latencies depend on "
		       "the length of the run\n",
		       backlog(report));
	if (result->stats.count > 0)
		printf("latency P50 %.1f us, P90 %.1f us, P99 %.1f us, P99.9 %.1f us, "
		       "max %.1f us\n",
		       l->p50_us, l->p90_us, l->p99_us, l->p999_us, l->max_us);
	if (report->options->count)
		printf("workgroups: %" PRIu64 " submitted, %" PRIu64 " executed, %" PRIu64
		       " twice, %" PRIu64 " never\n",
		       result->count.submitted, result->count.executed, result->count.twice,
		       result->count.never);
}

static void report(const struct arguments *a, struct replay_report *full)
{
	char why[512];

	if (stats_summarise(&full->result->stats, &full->latency) != 0)
		fail(EXIT_FAILURE, "out of memory");
	if (a->json)
		report_write_json(full, a->json);
	if (a->request_times &&
	    request_times_write(a->run.times, a->request_times, why, sizeof(why)) != 0)
		fail(EXIT_FAILURE, "%s", why);
	/* Print no text if the JSON goes to stdout, because a program reads it there. */
	if (!a->json || strcmp(a->json, REPORT_STDOUT) != 0)
		report_print(full);
	if (fflush(stdout) != 0)
		fail(EXIT_FAILURE, "standard output cannot be written");
}

/* Starts the sequence of arrivals. To be called when the rate is known. Returns 0 or -ENOMEM. */
static int start_arrivals(struct arguments *a, const struct arrivals_gaps *gaps)
{
	struct run_options *run = &a->run;
	uint64_t window_ns =
		run->seconds > 0 ? (uint64_t)(run->seconds * 1e9 * run->scale) : UINT64_MAX;

	if (!run->open_loop)
		return 0;
	if (a->arrivals == ARRIVALS_RECORDED)
		arrivals_start_recorded(&run->arrivals, gaps, run->rate_per_s, a->seed);
	else
		arrivals_start(&run->arrivals, a->arrivals, run->rate_per_s, a->seed);
	return run->times ? request_times_open(run->times, &run->arrivals, window_ns, run->requests)
			  : 0;
}

static void play(struct arguments *a, const struct trace *trace, const struct arrivals_gaps *gaps,
		 const struct sim_info *sim_info, struct rt *rt)
{
	struct run_result result = {0};
	struct request_times times = {0};
	struct plan plan = {0};

	a->api->open(rt, a->device);
	if (plan_make(trace, rt->compute_units, &plan) != 0)
		fail(EXIT_FAILURE, "out of memory");
	if (a->load > 0)
		a->run.rate_per_s = a->load * 1e9 / plan.mean_ns;
	if (a->run.rate_per_s > RATE_MAX)
		_exit(wrong_use("--load: more than a million of these requests a second"));
	if (a->run.requests == 0 && !(a->run.seconds > 0))
		a->run.requests = plan.request_count;
	a->run.times = a->request_times ? &times : NULL;
	if (start_arrivals(a, gaps) != 0)
		fail(EXIT_FAILURE, "out of memory for --request-times");
	rt->api->prepare(rt, &plan, a->run.count);
	run(rt, &plan, &a->run, &result);
	report(a, &(struct replay_report){.trace = trace->name,
					  .api = rt->api->name,
					  .gpu_name = rt->gpu_name,
					  .sim_info = sim_info,
					  .plan = &plan,
					  .options = &a->run,
					  .result = &result});
	stats_free(&result.stats);
	request_times_free(&times);
	plan_free(&plan);
}

int main(int argc, char **argv)
{
	struct arguments a = {.api = &rt_by_hsa,
			      .seed = DEFAULT_SEED,
			      .run = {.scale = 1, .sync_read = -1, .sync_write = -1}};
	struct trace trace;
	struct arrivals_gaps gaps = {0};
	struct sim_info sim_info;
	struct rt rt;
	char why[512];
	bool cut_off;
	int rc = version_print(argc, argv, "kfdreplay") ? 0 : parse(argc, argv, &a);

	if (rc != GO_ON)
		return rc;
	if (trace_read(a.trace, &trace, why, sizeof(why)) != 0 ||
	    (a.arrivals_file && arrivals_file_read(a.arrivals_file, &gaps, why, sizeof(why)) != 0))
		fail(EXIT_FAILURE, "%s", why);
	sim_info_read(&sim_info);
	a.run.scale = sim_info.time_scale;
	run_catch_signals();
	play(&a, &trace, &gaps, &sim_info, &rt);
	cut_off = rt.given_up;
	a.api->close(&rt);
	trace_free(&trace);
	arrivals_file_free(&gaps);
	if (cut_off) {
		/* Operations that are still on the GPU end with the process. exit() is not used,
		 * because HIP's exit handlers would wait for them, possibly for ever. */
		fflush(NULL);
		_exit(EXIT_SUCCESS);
	}
	return EXIT_SUCCESS;
}
