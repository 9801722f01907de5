// SPDX-License-Identifier: MIT
/* main() of kfdschedd: reads options and configuration, opens sockets, runs the watchdog. */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "channel/protocol.h"
#include "common/version.h"
#include "scheduler/daemon/config/config.h"
#include "scheduler/daemon/config/value.h"
#include "scheduler/daemon/listener.h"
#include "scheduler/daemon/log.h"
#include "scheduler/daemon/metrics/metrics_http.h"
#include "scheduler/daemon/recording/record.h"
#include "scheduler/daemon/systemd.h"
#include "scheduler/daemon/watchdog.h"

#define USAGE                                                                                      \
	"usage: kfdschedd [--config FILE] [--socket PATH] [--metrics PORT] [--foreground] "        \
	"[--verbose] [--record FILE] | --version"
#define HELP                                                                                       \
	USAGE "\n"                                                                                 \
	      "  --record FILE  write the input and the decisions of the scheduler to FILE, at "   \
	      "most 256 MiB (docs/reference/scheduler-recording.md)"

struct daemon_options {
	const char *config;
	const char *socket;
	const char *record;    /* NULL: no recording */
	uint16_t metrics_port; /* 0: no metrics */
	bool foreground;
};

/* Parses the options into *out. Returns -1 if the daemon is to start, otherwise the exit code. */
static int parse_options(int argc, char **argv, struct daemon_options *out)
{
	static const struct option known[] = {
		{"config", required_argument, NULL, 'c'},  {"socket", required_argument, NULL, 's'},
		{"metrics", required_argument, NULL, 'm'}, {"foreground", no_argument, NULL, 'f'},
		{"verbose", no_argument, NULL, 'v'},	   {"record", required_argument, NULL, 'r'},
		{"help", no_argument, NULL, 'h'},	   {NULL, 0, NULL, 0},
	};
	const char *log = getenv("KFDSCHEDD_LOG");
	uint64_t port;
	int c;

	if (log && strcmp(log, "debug") == 0)
		log_verbose();
	opterr = 0;
	while ((c = getopt_long(argc, argv, "", known, NULL)) != -1) {
		switch (c) {
		case 'c':
			out->config = optarg;
			break;
		case 's':
			out->socket = optarg;
			break;
		case 'm':
			if (value_number(optarg, 1, UINT16_MAX, &port)) {
				out->metrics_port = (uint16_t)port;
				break;
			}
			log_error("--metrics %s: must be a port, 1..65535", optarg);
			return 2;
		case 'f':
			out->foreground = true;
			break;
		case 'v':
			log_verbose();
			break;
		case 'r':
			out->record = optarg;
			break;
		case 'h':
			puts(HELP);
			return 0;
		default:
			log_error("unknown option or missing value: %s; " USAGE, argv[optind - 1]);
			return 2;
		}
	}
	if (optind == argc)
		return -1;
	log_error("unexpected argument %s; " USAGE, argv[optind]);
	return 2;
}

/* Continues the daemon in a child process in the background, and ends the calling process. Returns
 * 0 in the child process, or a negative errno. The socket is listening already, so the process that
 * started the daemon can connect at once. stderr stays open because the log is written to it. */
static int go_into_background(void)
{
	int null;

	if (daemon(0, 1) < 0)
		return -errno;
	null = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (null >= 0) {
		dup2(null, STDIN_FILENO);
		dup2(null, STDOUT_FILENO);
		close(null);
	}
	return 0;
}

/* Returns `path` as an absolute path; the caller frees it. Symbolic links are not resolved, so that
 * each reload follows them anew. Returns NULL on failure. */
static char *absolute(const char *path)
{
	char *directory = path[0] == '/' ? strdup("") : getcwd(NULL, 0), *whole = NULL;

	if (directory && asprintf(&whole, "%s%s%s", directory, path[0] == '/' ? "" : "/", path) < 0)
		whole = NULL;
	free(directory);
	return whole;
}

static void log_owners(const struct owners *owners)
{
	if (owners->bad_lines)
		log_info("%s: %u lines ignored: the format of a line is USER:FIRST:COUNT",
			 OWNERS_FILE, owners->bad_lines);
	if (owners->unused)
		log_info("%s: only the first %u ranges are used", OWNERS_FILE, OWNERS_MAX);
}

/* Reads the configuration; command-line options override it. Creates *out, by which it is read
 * again later. Returns 0, or the exit code after an error message. */
static int read_config(struct daemon_options *options, struct reload **out)
{
	static struct config config; /* static because it is large */
	const char *name = options->config;
	char problem[1024] = "", *path = NULL;

	config_default(&config);
	if (name && config_load(name, &config, problem, sizeof(problem))) {
		fprintf(stderr, "%s\n", problem); /* FILE:LINE first, as editors expect */
		return 2;
	}
	if (problem[0])
		log_error("%s", problem);
	owners_read(OWNERS_FILE, &config.owners); /* after config_load(), which resets them */
	log_owners(&config.owners);
	if (!options->metrics_port)
		options->metrics_port = config.metrics_port;
	path = name ? absolute(name) : NULL;
	*out = name && !path ? NULL : reload_create(path, &config);
	free(path);
	if (!*out)
		log_error("cannot start: %s", strerror(errno));
	return *out ? 0 : 1;
}

/* Takes the sockets that systemd has passed, opens those that are missing, as the options require,
 * and opens the recording. Returns 0, or a negative errno with a sentence in `problem`. */
static int listen_to_all(const struct daemon_options *options, struct listener *out, char *problem,
			 size_t size)
{
	struct service_sockets passed;
	int error = service_sockets(&passed, problem, size);

	if (error)
		return error;
	if (passed.daemon >= 0)
		*out = (struct listener){.fd = passed.daemon, .root_fd = -1};
	else
		error = listener_open(options->socket, out, problem, size);
	if (error)
		return error;
	if (passed.metrics >= 0)
		metrics_http_use(passed.metrics);
	else if (options->metrics_port)
		error = metrics_http_listen(options->metrics_port, problem, size);
	/* Open the recording last, so that a daemon that cannot start does not truncate a
	 * recording. */
	if (!error && options->record)
		error = record_open(options->record, problem, size);
	if (error) {
		listener_remove(out, options->socket);
		return error;
	}
	error = listener_open_root(out);
	if (error)
		log_info("cannot create the socket for root, which uses the common socket "
			 "instead: %s",
			 strerror(-error));
	return 0;
}

int main(int argc, char **argv)
{
	struct daemon_options options = {.socket = PROTOCOL_SOCKET};
	struct reload *reload = NULL;
	struct listener listener;
	char problem[512];
	int code;

	if (version_print(argc, argv, "kfdschedd"))
		return 0;
	log_open();
	if (service_has_journal())
		log_to_journal();
	code = parse_options(argc, argv, &options);
	if (code >= 0)
		return code;
	if (options.socket[0] != '/' && !options.foreground) {
		log_error("--socket %s must be an absolute path if --foreground is not given",
			  options.socket);
		return 2;
	}
	code = read_config(&options, &reload);
	if (code)
		return code;
	if (listen_to_all(&options, &listener, problem, sizeof(problem))) {
		log_error("%s", problem);
		return 1;
	}
	if (!options.foreground) {
		code = go_into_background();
		if (code) {
			listener_remove_root(&listener);
			listener_remove(&listener, options.socket);
			log_error("cannot go into the background: %s", strerror(-code));
			return 1;
		}
	}
	log_file_begin();
	if (options.record)
		log_info("recording to %s", options.record);
	log_info("listening at %s", listener.ino ? options.socket : "the socket that was passed");
	code = watchdog_run(&listener, reload);
	listener_remove_root(&listener);
	listener_remove(&listener, options.socket);
	log_file_end();
	return code;
}
