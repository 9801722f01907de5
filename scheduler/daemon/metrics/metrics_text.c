// SPDX-License-Identifier: MIT
#include "scheduler/daemon/metrics/metrics_text.h"

#include <errno.h>
#include <inttypes.h>

#define S 1000000000u

/* Upper bounds of the histogram buckets. They cover the expected time of a suspend (below a
 * millisecond), the limit for a slow suspend (50 ms), and the firmware's timeout (9 s). */
static const struct {
	uint64_t ns;
	const char *le;
} bounds[METRICS_BOUNDS] = {
	{20000, "0.00002"},  {50000, "0.00005"}, {100000, "0.0001"}, {200000, "0.0002"},
	{500000, "0.0005"},  {1000000, "0.001"}, {2000000, "0.002"}, {5000000, "0.005"},
	{10000000, "0.01"},  {50000000, "0.05"}, {100000000, "0.1"}, {1000000000, "1"},
	{10000000000, "10"},
};

static const struct {
	const char *name, *help;
} latencies[METRICS_LATENCIES] = {
	[METRICS_DETECTION] =
		{"detection_seconds",
		 "Time from the activity that caused a suspend to the entry of the driver call."},
	[METRICS_SUSPEND] = {"suspend_seconds", "Duration of successful suspends."},
	[METRICS_RESUME] = {"resume_seconds", "Duration of successful resumes."},
	[METRICS_HOLDOVER] = {"holdover_seconds",
			      "Time from the idleness that caused a resume to the entry of the "
			      "driver call."},
};

static const struct {
	const char *name, *help;
	size_t offset; /* offset of a counter in struct metrics_values */
} counts[] = {
	{"suspends_total", "Successful suspends.", offsetof(struct metrics_values, suspends)},
	{"resumes_total", "Successful resumes.", offsetof(struct metrics_values, resumes)},
	{"failures_total", "Failed suspends and resumes.",
	 offsetof(struct metrics_values, failures)},
};

/* The scope of a metric: it determines the prefix of the name and the labels. */
enum scope { ALL, NODE, CLIENT };

static const char *const prefixes[] = {"kfdsched_", "kfdsched_node_", "kfdsched_client_"};
static const char *const whose[] = {"All clients together.", "By node.", "By client."};

void metrics_histogram_add(struct metrics_histogram *histogram, uint64_t ns)
{
	unsigned i = 0;

	while (i < METRICS_BOUNDS && ns > bounds[i].ns)
		i++;
	histogram->counts[i]++;
	histogram->sum_ns += ns;
}

static void family(FILE *out, enum scope scope, const char *name, const char *type,
		   const char *help, const char *more)
{
	fprintf(out, "# HELP %s%s %s%s%s\n# TYPE %s%s %s\n", prefixes[scope], name, help,
		*more ? " " : "", more, prefixes[scope], name, type);
}

/* Writes a time in seconds exactly; a double would lose precision. */
static void seconds(FILE *out, uint64_t ns)
{
	fprintf(out, "%" PRIu64 ".%09" PRIu64 "\n", ns / S, ns % S);
}

/* Writes the value of a label: a text of at most `size` bytes. */
static void label_text(FILE *out, const char *text, size_t size)
{
	fputc('"', out);
	for (size_t i = 0; i < size && text[i]; i++) {
		char c = text[i];

		if (c == '\n') {
			fputs("\\n", out);
			continue;
		}
		if (c == '\\' || c == '"')
			fputc('\\', out);
		fputc(c, out);
	}
	fputc('"', out);
}

static void client_labels(FILE *out, const struct metrics_client *client)
{
	fprintf(out, "pid=\"%" PRId32 "\",comm=", client->pid);
	label_text(out, client->comm, sizeof(client->comm));
}

/* Returns the number of objects in a scope: nodes, clients, or 1. values_of() returns the counters
 * of object `i`, and labels() writes its labels. */
static uint32_t how_many(const struct metrics_snapshot *s, enum scope scope)
{
	return scope == ALL ? 1 : scope == NODE ? s->node_count : s->listed;
}

static const struct metrics_values *values_of(const struct metrics_snapshot *s, enum scope scope,
					      uint32_t i)
{
	return scope == ALL ? &s->all : scope == NODE ? &s->nodes[i].values : &s->list[i].values;
}

static void labels(FILE *out, const struct metrics_snapshot *s, enum scope scope, uint32_t i)
{
	if (scope == NODE)
		fprintf(out, "node=\"%" PRIu32 "\"", s->nodes[i].gpu_id);
	else if (scope == CLIENT)
		client_labels(out, &s->list[i]);
}

/* Writes the sample of the time that was spent in the state `time`. */
static void time_sample(FILE *out, const struct metrics_snapshot *s, enum scope scope, uint32_t i,
			enum core_time time)
{
	fprintf(out, "%stime_seconds_total{", prefixes[scope]);
	labels(out, s, scope, i);
	fprintf(out, "%sstate=\"%s\"} ", scope == ALL ? "" : ",", core_time_name(time));
	seconds(out, values_of(s, scope, i)->time_ns[time]);
}

/* Writes the name and labels of a sample; its value follows. */
static void sample(FILE *out, const struct metrics_snapshot *s, enum scope scope, uint32_t i,
		   const char *name)
{
	fprintf(out, "%s%s", prefixes[scope], name);
	if (scope != ALL) {
		fputc('{', out);
		labels(out, s, scope, i);
		fputc('}', out);
	}
	fputc(' ', out);
}

static void histogram(FILE *out, const struct metrics_snapshot *s, enum scope scope, uint32_t i,
		      enum metrics_latency latency)
{
	const struct metrics_histogram *h = &values_of(s, scope, i)->latency[latency];
	const char *name = latencies[latency].name;
	const char *comma = scope == ALL ? "" : ",";
	char with[64];
	uint64_t sum = 0;

	for (unsigned b = 0; b <= METRICS_BOUNDS; b++) {
		sum += h->counts[b];
		fprintf(out, "%s%s_bucket{", prefixes[scope], name);
		labels(out, s, scope, i);
		fprintf(out, "%sle=\"%s\"} %" PRIu64 "\n", comma,
			b < METRICS_BOUNDS ? bounds[b].le : "+Inf", sum);
	}
	snprintf(with, sizeof(with), "%s_sum", name);
	sample(out, s, scope, i, with);
	seconds(out, h->sum_ns);
	snprintf(with, sizeof(with), "%s_count", name);
	sample(out, s, scope, i, with);
	fprintf(out, "%" PRIu64 "\n", sum);
}

/* Writes the metrics that all scopes have. */
static void values(FILE *out, const struct metrics_snapshot *s, enum scope scope)
{
	uint32_t n = how_many(s, scope);

	for (size_t c = 0; c < sizeof(counts) / sizeof(*counts); c++) {
		family(out, scope, counts[c].name, "counter", counts[c].help, whose[scope]);
		for (uint32_t i = 0; i < n; i++) {
			sample(out, s, scope, i, counts[c].name);
			fprintf(out, "%" PRIu64 "\n",
				*(const uint64_t *)((const char *)values_of(s, scope, i) +
						    counts[c].offset));
		}
	}
	family(out, scope, "suspended_seconds_total", "counter",
	       "Time for which clients were suspended, summed over clients.", whose[scope]);
	for (uint32_t i = 0; i < n; i++) {
		sample(out, s, scope, i, "suspended_seconds_total");
		seconds(out, values_of(s, scope, i)->suspended_ns);
	}
	family(out, scope, "time_seconds_total", "counter",
	       "Time of clients by state; a client is in one state at a time. Runlist updates, "
	       "save and restore count as suspending and resuming; online work, the detection "
	       "of its end, and idle time between count as held.",
	       whose[scope]);
	for (uint32_t i = 0; i < n; i++)
		for (enum core_time t = 0; t < CORE_TIMES; t++)
			time_sample(out, s, scope, i, t);
	for (enum metrics_latency l = 0; l < METRICS_LATENCIES; l++) {
		family(out, scope, latencies[l].name, "histogram", latencies[l].help, whose[scope]);
		for (uint32_t i = 0; i < n; i++)
			histogram(out, s, scope, i, l);
	}
}

static void daemon(FILE *out, const struct metrics_snapshot *s, const char *version)
{
	family(out, ALL, "build_info", "gauge", "Always 1; the label has the version.", "");
	fprintf(out, "kfdsched_build_info{version=\"%s\"} 1\n", version);
	family(out, ALL, "uptime_seconds", "gauge", "Time since the daemon was started.", "");
	fputs("kfdsched_uptime_seconds ", out);
	seconds(out, s->uptime_ns);
	family(out, ALL, "worker_restarts_total", "counter", "Restarts of the worker.", "");
	fprintf(out, "kfdsched_worker_restarts_total %" PRIu64 "\n", s->worker_restarts);
	family(out, ALL, "refused_calls_total", "counter",
	       "System calls that the daemon's own seccomp filter refused.", "");
	fprintf(out, "kfdsched_refused_calls_total %" PRIu64 "\n", s->refused_calls);
	family(out, ALL, "log_dropped_lines_total", "counter",
	       "Log lines that were dropped because the log was not read in time.", "");
	fprintf(out, "kfdsched_log_dropped_lines_total %" PRIu64 "\n", s->log_dropped);
	family(out, ALL, "log_left_out_lines_total", "counter",
	       "Log lines that were suppressed by the rate limit of a client or user.", "");
	fprintf(out, "kfdsched_log_left_out_lines_total %" PRIu64 "\n", s->log_left_out);
	family(out, ALL, "clients", "gauge", "Registered processes.", "");
	fprintf(out, "kfdsched_clients %" PRIu32 "\n", s->clients);
	family(out, ALL, "clients_unlisted", "gauge",
	       "Registered processes that are not listed individually.", "");
	fprintf(out, "kfdsched_clients_unlisted %" PRIu32 "\n", s->clients - s->listed);
}

static void nodes(FILE *out, const struct metrics_snapshot *s)
{
	family(out, NODE, "active_seconds_total", "counter",
	       "Time for which clients had work, summed over clients.", whose[NODE]);
	for (uint32_t i = 0; i < s->node_count; i++) {
		sample(out, s, NODE, i, "active_seconds_total");
		seconds(out, s->nodes[i].active_ns);
	}
	family(out, NODE, "urgent", "gauge",
	       "1 if a client is held for a more urgent one on this node.", whose[NODE]);
	for (uint32_t i = 0; i < s->node_count; i++) {
		sample(out, s, NODE, i, "urgent");
		fprintf(out, "%d\n", (int)s->nodes[i].urgent);
	}
	family(out, NODE, "suspended_clients", "gauge", "Clients that are suspended now.",
	       whose[NODE]);
	for (uint32_t i = 0; i < s->node_count; i++) {
		sample(out, s, NODE, i, "suspended_clients");
		fprintf(out, "%" PRIu32 "\n", s->nodes[i].suspended);
	}
}

static void priority(FILE *out, const struct metrics_client *c, uint32_t node)
{
	(void)node;
	fprintf(out, "%d\n", c->priority);
}

static void suspended(FILE *out, const struct metrics_client *c, uint32_t node)
{
	(void)node;
	fprintf(out, "%d\n", (int)c->suspended);
}

static void active(FILE *out, const struct metrics_client *c, uint32_t node)
{
	fprintf(out, "%d\n", (int)c->nodes[node].active);
}

static void active_seconds(FILE *out, const struct metrics_client *c, uint32_t node)
{
	seconds(out, c->nodes[node].active_ns);
}

static void vram(FILE *out, const struct metrics_client *c, uint32_t node)
{
	fprintf(out, "%" PRIu64 "\n", c->nodes[node].vram_bytes);
}

/* Metrics that only clients have; `by_node`: one value for each node of the client. */
static const struct {
	const char *name, *type, *help;
	bool by_node;
	void (*value)(FILE *out, const struct metrics_client *c, uint32_t node);
} of_clients[] = {
	{"priority", "gauge", "Priority, 0 to 15; -1 without a priority.", false, priority},
	{"suspended", "gauge", "1 if the client is suspended now.", false, suspended},
	{"active", "gauge", "1 if the client reports work on this node.", true, active},
	{"active_seconds_total", "counter", "Time for which the client reported work on this node.",
	 true, active_seconds},
	{"vram_bytes", "gauge", "Memory that the client reports to have allocated on this node.",
	 true, vram},
};

static void clients(FILE *out, const struct metrics_snapshot *s)
{
	family(out, CLIENT, "level", "gauge",
	       "Always 1; the label has the level by which the client can be held.", whose[CLIENT]);
	for (uint32_t c = 0; c < s->listed; c++) {
		fputs("kfdsched_client_level{", out);
		client_labels(out, &s->list[c]);
		fprintf(out, ",level=\"%s\"} 1\n", s->list[c].level);
	}
	for (size_t f = 0; f < sizeof(of_clients) / sizeof(*of_clients); f++) {
		family(out, CLIENT, of_clients[f].name, of_clients[f].type, of_clients[f].help,
		       of_clients[f].by_node ? "By client and node." : whose[CLIENT]);
		for (uint32_t c = 0; c < s->listed; c++) {
			uint32_t n = of_clients[f].by_node ? s->list[c].node_count : 1;

			for (uint32_t i = 0; i < n; i++) {
				fprintf(out, "kfdsched_client_%s{", of_clients[f].name);
				client_labels(out, &s->list[c]);
				if (of_clients[f].by_node)
					fprintf(out, ",node=\"%" PRIu32 "\"",
						s->list[c].nodes[i].gpu_id);
				fputs("} ", out);
				of_clients[f].value(out, &s->list[c], i);
			}
		}
	}
}

/* Writes a label of a GPU; its value is empty if it is not known. */
static void gpu_label(FILE *out, const char *label, const char *text, size_t size)
{
	fprintf(out, ",%s=", label);
	label_text(out, text, size);
}

void metrics_gpus(const struct gpu_name *names, size_t n, FILE *out)
{
	family(out, ALL, "gpu_info", "gauge",
	       "Always 1; the labels have the other names of a node's GPU.", "");
	for (size_t i = 0; i < n; i++) {
		char render[24] = "";

		if (names[i].render_minor)
			snprintf(render, sizeof(render), "renderD%u", names[i].render_minor);
		fprintf(out, "kfdsched_gpu_info{node=\"%" PRIu32 "\",gpu=\"%u\"", names[i].gpu_id,
			names[i].index);
		gpu_label(out, "bdf", names[i].bdf, sizeof(names[i].bdf));
		gpu_label(out, "render", render, sizeof(render));
		gpu_label(out, "product", names[i].product, sizeof(names[i].product));
		fprintf(out, ",partition=\"%u\"} 1\n", names[i].partition);
	}
}

int metrics_text(const struct metrics_snapshot *s, const char *version, FILE *out)
{
	daemon(out, s, version);
	values(out, s, ALL);
	nodes(out, s);
	values(out, s, NODE);
	clients(out, s);
	values(out, s, CLIENT);
	return fflush(out) == 0 && !ferror(out) ? 0 : -EIO;
}
