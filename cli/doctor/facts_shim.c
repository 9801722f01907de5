// SPDX-License-Identifier: MIT
/* Collects what a program that is started in this session finds: the shim, the directory by which
 * shims find each other, limits, the HSA runtime, environment variables. */
#include "cli/doctor/facts.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "channel/agent_abi.h"
#include "channel/client_shm.h"
#include "channel/protocol.h"
#include "cli/util/command.h"
#include "cli/util/read_files.h"
#include "common/child.h"
#include "common/parse.h"
#include "common/wait.h"

#define ROCR "libhsa-runtime64.so.1"
#define OUTPUT_BYTES 8192 /* maximum number of bytes that are read of a program's output */
#define DIR_MOST 71	  /* longest XDG_RUNTIME_DIR that the shim uses (shim/config.h) */

/*
 * Starts kfdsched with `library` preloaded and LD_TRACE_LOADED_OBJECTS set: the dynamic linker then
 * prints what it loads and exits, so that no code of the library runs (ld.so(8)). A line about a
 * loaded library begins with a tab; other lines are error messages. Returns 0, with the lines in
 * `output`, cut to its size, or a negative errno.
 */
static int query_linker(const char *library, char output[OUTPUT_BYTES])
{
	char preload[PATH_MAX + 16];
	const struct child_program program = {
		/* The linker's messages begin with argv[0]. */
		.argv = (const char *const[]){"kfdsched", NULL},
		.path = "/proc/self/exe",
		.environment = (const char *const[]){preload, "LD_TRACE_LOADED_OBJECTS=1", NULL},
		.stdio = {CHILD_NULL, CHILD_PIPE, STDOUT_FILENO},
	};
	int rc;

	snprintf(preload, sizeof(preload), "LD_PRELOAD=%s", library);
	rc = child_collect(&program, WAIT_FOREVER, output, OUTPUT_BYTES);
	return rc < 0 && rc != -EFBIG ? rc : 0;
}

/* Checks whether the dynamic linker can load the library with all its dependencies. If not, returns
 * DOCTOR_NO and writes the reason to `problem`; if that is not known, returns DOCTOR_UNKNOWN. */
static enum doctor_known loads(const char *library, char *problem, size_t size)
{
	char output[OUTPUT_BYTES], *at;

	if (query_linker(library, output))
		return DOCTOR_UNKNOWN;
	at = strstr(output, "cannot be preloaded (");
	if (at) {
		at += strlen("cannot be preloaded (");
		snprintf(problem, size, "%.*s", (int)strcspn(at, ")\n"), at);
		return DOCTOR_NO;
	}
	at = strstr(output, " => not found");
	if (at) {
		*at = '\0';
		while (at > output && at[-1] != '\t' && at[-1] != '\n')
			at--;
		snprintf(problem, size, "%.200s is not found", at);
		return DOCTOR_NO;
	}
	for (at = output; *at; at += strcspn(at, "\n"), at += *at == '\n')
		if (*at != '\t') {
			snprintf(problem, size, "%.*s", (int)strcspn(at, "\n"), at);
			return DOCTOR_NO;
		}
	/* Even without an error message the linker can skip the library, for example in set-user-ID
	 * programs. So check that the output lists it. */
	return strstr(output, library) ? DOCTOR_YES : DOCTOR_UNKNOWN;
}

/* Fails every call. The agent (libkfdshim-agent.so) gets this function in place of the driver's
 * ioctl(). */
static int no_ioctl(int fd, unsigned long request, void *arg)
{
	(void)fd;
	(void)request;
	(void)arg;
	errno = ENOTTY;
	return -1;
}

/* Starts the agent (libkfdshim-agent.so) as the libkfdshim.so of this build does. Call it in a
 * child process. The agent creates its thread only with the first queue, so no thread is left
 * running. Returns 0 if the agent accepts the ABI, else 1. */
static int start_agent(const struct doctor_facts *facts)
{
	static uint64_t active_doorbells[KFDSHIM_ACTIVE_DOORBELLS];
	static uint32_t n_intercept_queues, gate;
	static const struct kfdshim_app_settings app_settings = {KFDSHIM_UNASKED, KFDSHIM_UNASKED,
								 0};
	static const struct kfdshim_preload_iface host = {.abi = KFDSHIM_AGENT_ABI,
							  .ioctl = no_ioctl,
							  .active_doorbells = active_doorbells,
							  .n_intercept_queues = &n_intercept_queues,
							  .gate = &gate,
							  .app_settings = &app_settings};
	const struct kfdshim_agent *started;
	kfdshim_agent_start_fn *start;
	void *library;

	unsetenv("KFDSHIM_LOG");
	library = dlopen(facts->agent, RTLD_NOW | RTLD_LOCAL);
	if (!library)
		return 1;
	*(void **)&start = dlsym(library, KFDSHIM_AGENT_START);
	started = start ? start(&host) : NULL;
	return !started || started->abi != KFDSHIM_AGENT_ABI;
}

/* Finds libkfdshim.so and libkfdshim-agent.so, which it loads into a process that uses a GPU, and
 * checks that both can be loaded. */
static void collect_libraries(struct doctor_facts *facts)
{
	char directory[PATH_MAX];

	if (cli_beside("libkfdshim.so", facts->shim)) {
		facts->shim[0] = '\0';
		return;
	}
	facts->preload_works =
		loads(facts->shim, facts->preload_problem, sizeof(facts->preload_problem));
	snprintf(directory, sizeof(directory), "%s", facts->shim);
	*strrchr(directory, '/') = '\0';
	if (snprintf(facts->agent, sizeof(facts->agent), "%s/%s", directory, KFDSHIM_AGENT_FILE) >=
		    (int)sizeof(facts->agent) ||
	    access(facts->agent, F_OK)) {
		facts->agent[0] = '\0';
		return;
	}
	facts->agent_works =
		loads(facts->agent, facts->agent_problem, sizeof(facts->agent_problem));
	if (facts->agent_works == DOCTOR_YES && doctor_in_child(start_agent, facts) > 0) {
		facts->agent_works = DOCTOR_NO;
		snprintf(facts->agent_problem, sizeof(facts->agent_problem),
			 "it is of another build (not ABI %u)", KFDSHIM_AGENT_ABI);
	}
}

/* Finds the HSA runtime that programs load: the one that the dynamic linker finds, or else the one
 * in the directory of ROCm. */
static void collect_rocr(struct doctor_facts *facts)
{
	char output[OUTPUT_BYTES], path[PATH_MAX];
	const char *rocm = getenv("ROCM_PATH"), *at;

	if (!query_linker(ROCR, output) && (at = strstr(output, ROCR " => /"))) {
		at += strlen(ROCR " => ");
		snprintf(path, sizeof(path), "%.*s", (int)strcspn(at, " \n"), at);
	} else {
		snprintf(path, sizeof(path), "%s/lib/" ROCR, rocm && *rocm ? rocm : "/opt/rocm");
	}
	if (!realpath(path, facts->rocr))
		facts->rocr[0] = '\0';
}

/* Finds the directory in which shims find each other, by the rules of shim/links/peer_files.c, and
 * checks whether a shim accepts it: owned by the user, with mode 0700. */
static void collect_dir(struct doctor_facts *facts)
{
	const char *runtime = getenv("XDG_RUNTIME_DIR");
	char *directory = facts->runtime_dir, *problem = facts->runtime_problem;
	const size_t room = sizeof(facts->runtime_problem);
	struct stat st;

	if (runtime && runtime[0] == '/' && strlen(runtime) <= DIR_MOST &&
	    stat(runtime, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == facts->uid)
		snprintf(directory, sizeof(facts->runtime_dir), "%s/kfdshim", runtime);
	else
		snprintf(directory, sizeof(facts->runtime_dir), "/dev/shm/kfdshim-%u", facts->uid);
	if (lstat(directory, &st)) {
		char parent[PATH_MAX];

		snprintf(parent, sizeof(parent), "%s", directory);
		*strrchr(parent, '/') = '\0';
		if (errno != ENOENT || faccessat(AT_FDCWD, parent, W_OK | X_OK, AT_EACCESS))
			snprintf(problem, room, "cannot be made: %s", strerror(errno));
	} else if (st.st_uid != facts->uid) {
		snprintf(problem, room, "belongs to uid %u", st.st_uid);
		facts->runtime_taken = true;
	} else if (!S_ISDIR(st.st_mode)) {
		snprintf(problem, room, "is not a directory");
	} else if ((st.st_mode & 0777) != 0700) {
		snprintf(problem, room, "has mode %04o, not 0700", st.st_mode & 07777);
	}
}

/* Tries to create what the shim needs for its connection to the daemon: the shared memory of a
 * client and an eventfd. Reads the limit of open files. */
static void collect_limits(struct doctor_facts *facts)
{
	struct rlimit files;
	struct client_shm *shm;
	int fd = client_shm_create(CLIENT_SHM_VERSION, &shm);

	facts->shm_error = fd < 0 ? -fd : 0;
	if (fd >= 0) {
		client_shm_unmap(shm);
		close(fd);
	}
	fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	facts->eventfd_error = fd < 0 ? errno : 0;
	if (fd >= 0)
		close(fd);
	if (getrlimit(RLIMIT_NOFILE, &files) == 0)
		facts->open_files =
			files.rlim_cur > INT32_MAX ? INT32_MAX : (int64_t)files.rlim_cur;
}

static bool wrong_priority(const char *value)
{
	int priority;

	return protocol_priority(value, &priority) != 0;
}

static bool wrong_level(const char *value)
{
	enum protocol_level level;

	return protocol_level(value, &level) != 0;
}

/* Returns true if the shim rejects this KFDSHIM_SLO, which it stores in us in 32 bits. */
static bool wrong_slo(const char *value)
{
	uint64_t ns;

	return !parse_time_ns(value, &ns) || ns < 1000 || ns / 1000 > UINT32_MAX;
}

static bool wrong_bytes(const char *value)
{
	int64_t bytes;

	return read_bytes(&bytes, value) != 0;
}

/* Checks the values of the KFDSHIM_ variables in this session by the rules of the shim. Records
 * only the first wrong one. */
static void collect_environment(struct doctor_facts *facts)
{
	static const struct {
		const char *name;
		size_t longest; /* maximum length of the value if `wrong` is NULL */
		bool (*wrong)(const char *value);
	} variables[] = {
		{"KFDSHIM_PRIORITY", 0, wrong_priority},
		{"KFDSHIM_LEVEL", 0, wrong_level},
		{"KFDSHIM_SLO", 0, wrong_slo},
		{"KFDSHIM_GROUP", PROTOCOL_GROUP_MAX - 1, NULL},
		{"KFDSHIM_VRAM_LIMIT", 0, wrong_bytes},
		{"KFDSHIM_SOCKET", 107, NULL}, /* sun_path, without the NUL */
	};
	const char *value;

	for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); i++) {
		value = getenv(variables[i].name);
		if (value && *value &&
		    (variables[i].wrong ? variables[i].wrong(value)
					: strlen(value) > variables[i].longest)) {
			snprintf(facts->env_wrong, sizeof(facts->env_wrong), "%s=%.60s",
				 variables[i].name, value);
			break;
		}
	}
	value = getenv("KFDSHIM_DISABLE");
	facts->env_disabled = value && !strcmp(value, "1");
	value = getenv("HSA_ENABLE_INTERRUPT");
	facts->no_interrupts = value && !strcmp(value, "0");
	value = getenv("HSA_TOOLS_LIB");
	snprintf(facts->tools, sizeof(facts->tools), "%s", value ? value : "");
}

void doctor_collect_shim(struct doctor_facts *facts)
{
	collect_libraries(facts);
	collect_rocr(facts);
	collect_dir(facts);
	collect_limits(facts);
	collect_environment(facts);
}
