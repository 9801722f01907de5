// SPDX-License-Identifier: MIT
/* A trace instance is a directory in instances/ of the tracefs. Writing its files selects the
 * functions and events; its trace_pipe is read as text. */
#include "cli/trace/trace.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/proc.h"

#define PREFIX "kfdsched-"
#define READ_MOST (4u << 20) /* limit of what is read at once, in bytes */

/* Functions by which amdkfd changes queues and processes: a few calls for each operation. (Tracing
 * all functions of amdgpu would record thousands of calls.) Their names differ between kernel
 * releases; those that the running kernel has are traced. */
static const char *const functions[] = {
	"evict_process_queues_cpsch",
	"evict_process_queues_nocpsch",
	"execute_queues_cpsch",
	"kfd_dbg_trap_disable",
	"kfd_dbg_trap_enable",
	"kfd_ioctl",
	"kfd_process_evict_queues",
	"kfd_process_restore_queues",
	"kgd2kfd_post_reset",
	"kgd2kfd_pre_reset",
	"map_queues_cpsch",
	"pqm_create_queue",
	"pqm_destroy_queue",
	"pqm_update_mqd",
	"pqm_update_queue_properties",
	"restore_process_queues_cpsch",
	"restore_process_queues_nocpsch",
	"resume_queues",
	"suspend_queues",
	"svm_range_restore_work",
	"unmap_queues_cpsch",
};
#define FUNCTIONS (sizeof(functions) / sizeof(functions[0]))

/* groups[]: groups of events that are traced. floods[]: parts of the names of events that are left
 * out, because they occur thousands of times for each piece of work. */
static const char *const groups[] = {"amdkfd", "amdgpu", "gpu_scheduler"};
static const char *const floods[] = {"rreg", "wreg", "ptes", "_dm_", "amdgpu_dc_"};

__attribute__((format(printf, 2, 3))) static void set_reason(struct tracefs *tracefs,
							     const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(tracefs->why, sizeof(tracefs->why), format, args);
	va_end(args);
}

/* ---- files ---- */

/* Writes `text` to a file, opened with O_WRONLY and `flags`. Returns 0 or a negative errno. */
static int put(const char *directory, const char *file, const char *text, int flags)
{
	char path[PATH_MAX];
	int fd, error = 0;

	snprintf(path, sizeof(path), "%s/%s", directory, file);
	fd = open(path, O_WRONLY | O_CLOEXEC | flags);
	if (fd < 0)
		return -errno;
	if (write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		error = errno ? -errno : -EIO;
	close(fd);
	return error;
}

/* Returns true if the line of available_filter_functions names one of functions[]. Lines are "name"
 * or "name [module]". */
static bool is_wanted(const char *line)
{
	size_t length = strcspn(line, " \t\n");

	for (size_t i = 0; i < FUNCTIONS; i++)
		if (strlen(functions[i]) == length && memcmp(functions[i], line, length) == 0)
			return true;
	return false;
}

/* Returns true if the function belongs to the driver, and not to other code with a function of the
 * same name, such as "resume_queues". A function of a module is listed with the name of the module.
 * If the driver is built into the kernel (`built_in`: kfd_ioctl is listed without a module), its
 * functions are listed without one. */
static bool is_drivers(const char *line, bool built_in)
{
	return strstr(line, "[amdgpu]") || strstr(line, "[amdkfd]") ||
	       (built_in && !strchr(line, '['));
}

/* Selects those of functions[] that the driver has. Returns their number. */
static unsigned set_functions(const char *root, const char *directory)
{
	char path[PATH_MAX], line[512];
	unsigned count = 0;
	bool built_in = false;
	FILE *file;

	snprintf(path, sizeof(path), "%s/available_filter_functions", root);
	file = fopen(path, "re");
	if (!file)
		return 0;
	while (fgets(line, sizeof(line), file))
		built_in |= strcmp(line, "kfd_ioctl\n") == 0;
	rewind(file);
	while (fgets(line, sizeof(line), file)) {
		if (!is_wanted(line) || !is_drivers(line, built_in))
			continue;
		strcpy(line + strcspn(line, " \t\n"), "\n");
		/* O_APPEND adds to the filter, which is empty in a new instance. */
		if (put(directory, "set_ftrace_filter", line, O_APPEND) == 0)
			count++;
	}
	fclose(file);
	return count;
}

static bool is_flood(const char *name)
{
	for (size_t i = 0; i < sizeof(floods) / sizeof(floods[0]); i++)
		if (strstr(name, floods[i]))
			return true;
	return false;
}

/* Enables all events of groups[] in the instance, except floods[]. Returns their number. */
static unsigned set_events(const char *directory)
{
	char path[PATH_MAX];
	unsigned count = 0;

	for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]); i++) {
		const struct dirent *entry;
		DIR *dir;

		snprintf(path, sizeof(path), "%s/events/%s", directory, groups[i]);
		dir = opendir(path);
		while (dir && (entry = readdir(dir))) {
			char file[PATH_MAX];

			if (entry->d_name[0] == '.' || is_flood(entry->d_name))
				continue;
			snprintf(file, sizeof(file), "events/%s/%s/enable", groups[i],
				 entry->d_name);
			if (put(directory, file, "1", 0) == 0)
				count++;
		}
		if (dir)
			closedir(dir);
	}
	return count;
}

/* ---- the instance ---- */

void tracefs_name(char name[static 64])
{
	struct proc_stat stat;

	proc_stat(getpid(), &stat);
	snprintf(name, 64, PREFIX "%d-%llu", (int)getpid(), (unsigned long long)stat.started);
}

/* Returns true if the process that made the instance has ended. A process of another pid namespace
 * looks as if it had ended, so tracefs_open() removes leftovers only in the first pid namespace. */
static bool is_left_over(const char *name)
{
	unsigned long long started;
	struct proc_stat stat;
	int pid, end = 0;

	if (sscanf(name, PREFIX "%d-%llu%n", &pid, &started, &end) != 2 || name[end] != '\0')
		return false;
	return !proc_stat(pid, &stat) || stat.started != started;
}

unsigned tracefs_remove_leftovers(const char *root)
{
	char path[PATH_MAX], directory[2 * PATH_MAX];
	const struct dirent *entry;
	unsigned count = 0;
	DIR *dir;

	snprintf(path, sizeof(path), "%s/instances", root);
	dir = opendir(path);
	while (dir && (entry = readdir(dir))) {
		if (!is_left_over(entry->d_name))
			continue;
		snprintf(directory, sizeof(directory), "%s/%s", path, entry->d_name);
		put(directory, "tracing_on", "0", 0);
		if (rmdir(directory) == 0)
			count++;
	}
	if (dir)
		closedir(dir);
	return count;
}

/* Returns true if tracing is not possible at all, and sets tracefs->why. */
static bool is_hopeless(struct tracefs *tracefs, const char *root)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/instances", root);
	if (access(path, W_OK) == 0)
		return false;
	if (errno == ENOENT)
		set_reason(
			tracefs,
			"there is no tracefs at %s: use a kernel that has it, or mount it there as "
			"root (mount -t tracefs nodev DIRECTORY)",
			root);
	else
		set_reason(tracefs, "no permission to use tracefs at %s (%s): run this as root",
			   root, strerror(errno));
	return true;
}

/* Selects the tracer: function_graph, or function if an instance cannot use function_graph. */
static void set_tracer(struct tracefs *tracefs, const char *root)
{
	static const char *const on[] = {"funcgraph-abstime", "funcgraph-proc", "funcgraph-tail",
					 "funcgraph-duration", "funcgraph-cpu"};
	char file[64];

	tracefs->functions = set_functions(root, tracefs->directory);
	/* Without a filter the tracer would trace the whole kernel. */
	if (!tracefs->functions)
		return;
	/* function_graph is available in an instance since Linux 6.12. */
	tracefs->graph = put(tracefs->directory, "current_tracer", "function_graph", 0) == 0;
	for (size_t i = 0; tracefs->graph && i < sizeof(on) / sizeof(on[0]); i++) {
		snprintf(file, sizeof(file), "options/%s", on[i]);
		put(tracefs->directory, file, "1", 0);
	}
	if (!tracefs->graph && put(tracefs->directory, "current_tracer", "function", 0) != 0)
		tracefs->functions = 0;
}

int tracefs_open(struct tracefs *tracefs, const char *root, const char *name)
{
	char path[PATH_MAX];
	int error;

	*tracefs = (struct tracefs){.pipe = -1};
	if (is_hopeless(tracefs, root))
		return -ENOENT;
	if (proc_namespace(0, "pid") == PROC_FIRST_PID_NAMESPACE)
		tracefs_remove_leftovers(root);
	snprintf(path, sizeof(path), "%s/instances/%s", root, name);
	if (strlen(path) >= sizeof(tracefs->directory)) {
		set_reason(tracefs, "the path of a trace instance in %s/instances is too long",
			   root);
		return -ENAMETOOLONG;
	}
	if (mkdir(path, 0700) != 0 && errno != EEXIST) {
		error = -errno;
		set_reason(tracefs, "cannot create a trace instance in %s/instances: %s", root,
			   strerror(-error));
		return error;
	}
	strcpy(tracefs->directory, path);
	error = put(path, "trace_clock", "mono", 0);
	if (!error)
		error = put(path, "tracing_on", "0", 0);
	if (error) {
		set_reason(tracefs, "cannot configure the trace instance %s: %s", path,
			   strerror(-error));
		goto none;
	}
	set_tracer(tracefs, root);
	tracefs->events = set_events(path);
	if (!tracefs->functions && !tracefs->events) {
		error = -ENOENT;
		set_reason(
			tracefs,
			"the kernel has no traceable function of amdkfd and no event of amdgpu: load "
			"amdgpu, or use a kernel with function tracing");
		goto none;
	}
	snprintf(path, sizeof(path), "%s/trace_pipe", tracefs->directory);
	tracefs->pipe = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (tracefs->pipe < 0) {
		error = -errno;
		set_reason(tracefs, "%s cannot be read: %s", path, strerror(-error));
		goto none;
	}
	error = put(tracefs->directory, "tracing_on", "1", 0);
	if (error) {
		set_reason(tracefs, "cannot enable tracing in %s: %s", tracefs->directory,
			   strerror(-error));
		goto none;
	}
	set_reason(tracefs, "%u functions of amdkfd%s and %u events of the GPU drivers are traced",
		   tracefs->functions,
		   !tracefs->functions || tracefs->graph
			   ? ""
			   : " (calls without durations, which Linux 6.12 and newer report)",
		   tracefs->events);
	return 0;
none:
	tracefs_close(tracefs);
	return error;
}

void tracefs_stop(struct tracefs *tracefs)
{
	if (tracefs->directory[0])
		put(tracefs->directory, "tracing_on", "0", 0);
}

void tracefs_close(struct tracefs *tracefs)
{
	tracefs_stop(tracefs);
	if (tracefs->pipe >= 0)
		close(tracefs->pipe);
	tracefs->pipe = -1;
	/* The files of the instance belong to the kernel and disappear with the directory. */
	if (tracefs->directory[0])
		rmdir(tracefs->directory);
	tracefs->directory[0] = '\0';
}

/* ---- reading ---- */

/*
 * Parses lines of trace_pipe. There are two formats, both with times of the clock `mono`:
 *
 *   Tracer function_graph with the options abstime, proc and tail. The time is that of the line;
 *   the line at the end of a function has the time of the end:
 *	   100.123456 |   1)   python3-1234   |               |  kfd_ioctl [amdgpu]() {
 *	   100.123459 |   1)   python3-1234   |   1.204 us    |    suspend_queues [amdgpu]();
 *	   100.123470 |   1)   python3-1234   | + 13.500 us   |  } / * kfd_ioctl [amdgpu] * /
 *	   100.123480 |   1)   python3-1234   |               |  / * drm_sched_job: entity=... * /
 *
 *   Tracer function, and events if the graph tracer is not active:
 *	      python3-1234    [001] ...1.   100.123456: kfd_ioctl <-__x64_sys_ioctl
 *	      python3-1234    [001] .....   100.123456: drm_sched_job: entity=...
 *
 * In both formats lost events are reported as "CPU:1 [LOST 12 EVENTS]".
 */

static const char *skip_blanks(const char *c)
{
	return c + strspn(c, " \t");
}

/* Parses "100.123456": seconds with six or nine decimals. Returns the text behind it, or NULL. */
static const char *take_time(const char *c, uint64_t *ns)
{
	char *end;
	unsigned long long s = strtoull(c, &end, 10);
	uint64_t part = 0, scale = 1000000000u;

	if (end == c || *end != '.' || s > 1000000000u || *c < '0' || *c > '9')
		return NULL;
	for (c = end + 1; *c >= '0' && *c <= '9' && scale > 1; c++) {
		part = part * 10 + (uint64_t)(*c - '0');
		scale /= 10;
	}
	*ns = s * 1000000000u + part * scale;
	return c;
}

/* Parses "comm-1234", which ends at `end`. A comm can contain blanks and dashes, so the last dash
 * separates it from the thread id. Returns false if there is no thread id. */
static bool take_task(const char *c, const char *end, struct trace_event *out)
{
	const char *dash;
	char *stop;

	c = skip_blanks(c);
	while (end > c && (end[-1] == ' ' || end[-1] == '\t'))
		end--;
	for (dash = end; dash > c && dash[-1] != '-'; dash--)
		;
	if (dash <= c + 1)
		return false;
	out->thread = strtoull(dash, &stop, 10);
	trace_copy(out->comm, sizeof(out->comm), c, (size_t)(dash - 1 - c));
	return stop == end;
}

/* Stores an event's text, and its name, which ends before arguments, module or caller. */
static void take_name(const char *c, size_t bytes, struct trace_event *out)
{
	size_t n = strcspn(c, " (;:");

	trace_copy(out->name, sizeof(out->name), c, n < bytes ? n : bytes);
	trace_copy(out->text, sizeof(out->text), c, bytes);
}

/* Parses a duration such as "+ 13.500 us" between two '|'. Returns false if there is none. */
static bool take_duration(const char *c, struct trace_event *out)
{
	double us;
	char *end;

	c += strspn(c, " \t$@*#!+");
	us = strtod(c, &end);
	if (end == c || strncmp(skip_blanks(end), "us", 2) != 0 || us < 0 || us > 1e12)
		return false;
	out->has_duration = true;
	out->duration_ns = (uint64_t)(us * 1000);
	return true;
}

/* Parses what follows the time in a line of tracer function_graph. Returns false if it
 * is not an event. */
static bool parse_graph(const char *c, struct trace_event *out)
{
	const char *task = strchr(c, ')'), *bar = task ? strchr(task, '|') : NULL, *duration, *what,
		   *end;

	duration = bar ? bar + 1 : NULL;
	what = duration ? strchr(duration, '|') : NULL;
	if (!what || !take_task(task + 1, bar, out))
		return false;
	what = skip_blanks(what + 1);
	end = what + strlen(what);
	if (strncmp(what, "/* ", 3) == 0) { /* an event */
		if (end - what > 6 && strcmp(end - 3, " */") == 0)
			end -= 3;
		take_name(what + 3, (size_t)(end - what) - 3, out);
		return out->name[0] != '\0';
	}
	if (what[0] == '}') { /* end of a function: gives its span */
		what = strstr(what, "/* ");
		if (!what || !take_duration(duration, out) || out->duration_ns > out->ns)
			return false;
		what += 3;
		end = strstr(what, " */");
		take_name(what, end ? (size_t)(end - what) : strlen(what), out);
		out->ns -= out->duration_ns;
		out->mark = TRACE_SPAN;
		return true;
	}
	/* A function that called no other traced function: its start and end are one line. */
	if (end > what && end[-1] == ';' && take_duration(duration, out)) {
		take_name(what, (size_t)(end - what) - 1, out);
		out->mark = TRACE_SPAN;
		return true;
	}
	return false; /* start of a function: reported at its end */
}

/* Parses a line of tracer function, or of an event: the task is followed by the CPU in brackets,
 * the flags, the time and a colon. Returns false if the line has another format. */
static bool parse_plain(const char *line, struct trace_event *out)
{
	const char *cpu = strstr(line, " ["), *c;

	while (cpu && !(cpu[2] >= '0' && cpu[2] <= '9'))
		cpu = strstr(cpu + 1, " [");
	c = cpu ? strchr(cpu, ']') : NULL;
	if (!c || !take_task(line, cpu, out))
		return false;
	c = skip_blanks(c + 1);
	if (*c < '0' || *c > '9') /* flags */
		c = skip_blanks(c + strcspn(c, " \t"));
	c = take_time(c, &out->ns);
	if (!c || *c != ':')
		return false;
	c = skip_blanks(c + 1);
	take_name(c, strlen(c), out);
	return out->name[0] != '\0';
}

bool tracefs_parse(const char *line, struct trace_event *out, uint64_t *lost)
{
	unsigned long long count;
	const char *c = skip_blanks(line), *lost_at = strstr(line, "[LOST ");

	*out = (struct trace_event){.source = TRACE_DRIVER};
	if (strncmp(c, "CPU:", 4) == 0 && lost_at &&
	    sscanf(lost_at, "[LOST %llu EVENTS]", &count) == 1) {
		*lost += count;
		return false;
	}
	c = take_time(c, &out->ns);
	if (c && *(c = skip_blanks(c)) == '|')
		return parse_graph(c + 1, out);
	return parse_plain(line, out);
}

bool tracefs_read(struct tracefs *tracefs, void (*take)(void *context, struct trace_event *event),
		  void *context)
{
	struct trace_event event;
	char text[8192];
	size_t got = 0;
	ssize_t n = 0;

	while (tracefs->pipe >= 0 && got < READ_MOST &&
	       (n = read(tracefs->pipe, text, sizeof(text))) > 0) {
		got += (size_t)n;
		for (ssize_t i = 0; i < n; i++) {
			if (text[i] != '\n') {
				/* A line that is too long is cut. */
				if (tracefs->used < sizeof(tracefs->line) - 1)
					tracefs->line[tracefs->used++] = text[i];
				continue;
			}
			tracefs->line[tracefs->used] = '\0';
			tracefs->used = 0;
			if (tracefs_parse(tracefs->line, &event, &tracefs->lost))
				take(context, &event);
		}
	}
	return n > 0;
}
