// SPDX-License-Identifier: MIT
/*
 * Proves what a snapshot does with processes: one entry for each requested pid, in that order; a
 * process that has ended stays ended although another process gets its pid; a read that does not
 * request it forgets it; a process that does not exist has ended; what a caller has taken over
 * stays valid. No GPU is needed: the sources have no data here, and say so.
 */
#include <dirent.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
/* clang-format off: cmocka wants some of the above first */
#include <cmocka.h>
/* clang-format on */

#include "cli/inspect/snapshot.h"
#include "cli/inspect/sources.h"

#define NO_PROCESS ((pid_t)0x3fffffff) /* above the kernel's limit for pids */

static int shm_queries;		 /* calls of source_shm() */
static pid_t ends_in_query = -1; /* this process ends in its next source_shm() */

static void end(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* source_shm(), replaced: each process has one queue, with its pid as the id. */
int __wrap_source_shm(struct source_shm *shm, pid_t pid, struct observe_list *out, WHY);
int __wrap_source_shm(struct source_shm *shm, pid_t pid, struct observe_list *out, WHY)
{
	(void)shm;
	(void)why;
	shm_queries++;
	if (pid == ends_in_query)
		end(pid);
	observe_list_add(out)->id = (uint32_t)pid;
	return 0;
}

static pid_t start(void)
{
	pid_t pid = fork();

	if (pid == 0)
		for (;;)
			pause();
	assert_true(pid > 0);
	return pid;
}

static const struct snapshot *read_shm(struct snapshot_reader *reader, const pid_t *pids,
				       size_t count, bool ids_only)
{
	const struct snapshot_request request = {.pids = pids,
						 .count = count,
						 .sources = OBSERVE_BIT(OBSERVE_SHM),
						 .ids_only = ids_only};

	return snapshot_read(reader, &request);
}

static void requested_processes(void **state)
{
	struct snapshot_reader *reader = snapshot_open("/nonexistent/socket");
	const pid_t child = start();
	const pid_t pids[] = {child, NO_PROCESS, getpid(), child};

	(void)state;
	for (int ids_only = 0; ids_only < 2; ids_only++) {
		const struct snapshot *snapshot;

		shm_queries = 0;
		snapshot = read_shm(reader, pids, 4, ids_only);
		assert_int_equal(snapshot->count, 4);
		assert_int_equal(shm_queries, 2); /* the one requested twice is queried once */
		for (size_t i = 0; i < 4; i++) {
			const struct snapshot_process *process = snapshot->processes[i];

			assert_int_equal(process->identity.pid, pids[i]);
			assert_int_equal(process->ended, i == 1);
			assert_int_equal(process->seen.queues.count, i != 1);
			if (i != 1)
				assert_int_equal(process->seen.queues.queue[0].id, pids[i]);
		}
	}
	end(child);
	snapshot_close(reader);
}

/* The same reader sees a process end. A second process cannot be given its pid here, so what
 * matters is that the reader does not look at that pid again. */
static void ended(void **state)
{
	struct snapshot_reader *reader = snapshot_open("/nonexistent/socket");
	const pid_t child = start(), none = NO_PROCESS;
	const struct snapshot_process *process;

	(void)state;
	assert_false(read_shm(reader, &child, 1, false)->processes[0]->ended);
	end(child);
	for (int i = 0; i < 2; i++) {
		process = read_shm(reader, &child, 1, false)->processes[0];
		assert_true(process->ended);
		assert_int_equal(process->identity.pid, child);
		assert_int_equal(process->seen.queues.count, 0);
		assert_int_equal(process->seen.listed, 0);
	}
	read_shm(reader, &none, 1, false); /* forgets the child */
	assert_true(read_shm(reader, &child, 1, false)->processes[0]->ended);
	snapshot_close(reader);
}

/* If a process ends while its sources are queried, what they have reported may be of another one. */
static void ended_meanwhile(void **state)
{
	struct snapshot_reader *reader = snapshot_open("/nonexistent/socket");
	const pid_t child = start();
	const struct snapshot_process *process;

	(void)state;
	ends_in_query = child;
	process = read_shm(reader, &child, 1, false)->processes[0];
	assert_true(process->ended);
	assert_int_equal(process->seen.queues.count, 0);
	assert_int_equal(process->seen.listed, 0);
	snapshot_close(reader);
}

/* An identity is kept while its process is requested; the read after one that did not request it
 * reads it again. */
static void identity_is_kept(void **state)
{
	struct snapshot_reader *reader = snapshot_open("/nonexistent/socket");
	const pid_t child = start(), ours = getpid();
	struct snapshot_process *process = read_shm(reader, &child, 1, false)->processes[0];

	(void)state;
	strcpy(process->identity.comm, "kept");
	process = read_shm(reader, &child, 1, false)->processes[0];
	assert_string_equal(process->identity.comm, "kept");
	read_shm(reader, &ours, 1, false);
	process = read_shm(reader, &child, 1, false)->processes[0];
	assert_string_not_equal(process->identity.comm, "kept");
	end(child);
	snapshot_close(reader);
}

static void taken_over(void **state)
{
	struct snapshot_reader *reader = snapshot_open("/nonexistent/socket");
	const pid_t ours = getpid();
	struct snapshot_process *process = read_shm(reader, &ours, 1, false)->processes[0];
	struct observation mine = process->seen;

	(void)state;
	process->seen = (struct observation){0};
	read_shm(reader, &ours, 1, false);
	snapshot_close(reader);
	assert_int_equal(mine.queues.count, 1);
	assert_int_equal(mine.queues.queue[0].id, ours);
	observation_free(&mine);
}

/* A read without sources finds all processes of /proc, with their identities only, and keeps
 * none. */
static void search_all(void **state)
{
	const struct snapshot_request request = {.scope = SNAPSHOT_SEARCH_ALL};
	struct snapshot_reader *reader = snapshot_open("/nonexistent/socket");
	const struct snapshot *snapshot;
	size_t found = 0;

	(void)state;
	for (int i = 0; i < 2; i++) {
		shm_queries = 0;
		snapshot = snapshot_read(reader, &request);
		assert_non_null(snapshot);
		for (size_t k = 0; k < snapshot->count; k++) {
			struct snapshot_process *process = snapshot->processes[k];

			assert_true(k == 0 || process->identity.pid >
						      snapshot->processes[k - 1]->identity.pid);
			assert_string_not_equal(process->identity.comm, "kept");
			if (process->identity.pid != getpid())
				continue;
			found++;
			assert_int_equal(process->seen.queues.count, 0);
			strcpy(process->identity.comm, "kept");
		}
		assert_int_equal(shm_queries, 0);
	}
	assert_int_equal(found, 2);
	snapshot_close(reader);
}

static size_t open_files(void)
{
	DIR *directory = opendir("/proc/self/fd");
	size_t n = 0;

	assert_non_null(directory);
	while (readdir(directory))
		n++;
	closedir(directory);
	return n;
}

/* A list can have thousands of processes: nothing stays open for them. */
static void search_keeps_nothing_open(void **state)
{
	const struct snapshot_request request = {.scope = SNAPSHOT_SEARCH_ALL,
						 .sources = OBSERVE_BIT(OBSERVE_SHM)};
	struct snapshot_reader *reader = snapshot_open("/nonexistent/socket");
	size_t before = open_files();

	(void)state;
	assert_true(snapshot_read(reader, &request)->count > 0);
	assert_int_equal(open_files(), before);
	snapshot_close(reader);
}

/* A caller that has just listed the pids gets the process that has a pid now. */
static void listed_now(void **state)
{
	struct snapshot_reader *reader = snapshot_open("/nonexistent/socket");
	const pid_t child = start();
	const struct snapshot_request request = {.pids = &child,
						 .count = 1,
						 .listed_now = true,
						 .sources = OBSERVE_BIT(OBSERVE_SHM)};
	struct snapshot_process *process = read_shm(reader, &child, 1, false)->processes[0];

	(void)state;
	process->ended = true; /* as if the pid had belonged to another process before */
	assert_true(read_shm(reader, &child, 1, false)->processes[0]->ended);
	process = snapshot_read(reader, &request)->processes[0];
	assert_false(process->ended);
	assert_int_equal(process->seen.queues.count, 1);
	process->identity.started--;
	strcpy(process->identity.comm, "another");
	process = snapshot_read(reader, &request)->processes[0];
	assert_string_not_equal(process->identity.comm, "another");
	end(child);
	assert_true(snapshot_read(reader, &request)->processes[0]->ended);
	snapshot_close(reader);
}

/* Without data from any source the reason is that of the last one. */
static void no_source(void **state)
{
	const pid_t ours = getpid();
	const struct snapshot_request request = {
		.pids = &ours, .count = 1, .sources = OBSERVE_BIT(OBSERVE_DAEMON)};
	struct snapshot_reader *reader = snapshot_open("/nonexistent/socket");
	const struct observe_list *list;
	enum observe_source source;
	const char *why;
	int error;

	(void)state;
	list = observation_queues(&snapshot_read(reader, &request)->processes[0]->seen, &source,
				  &error, &why);
	assert_int_equal(list->count, 0);
	assert_int_equal(source, OBSERVE_NO_SOURCE);
	assert_true(error < 0);
	assert_non_null(strstr(why, "/nonexistent/socket"));
	list = observation_queues(&read_shm(reader, &ours, 1, true)->processes[0]->seen, &source,
				  &error, &why);
	assert_int_equal(list->count, 1);
	assert_int_equal(source, OBSERVE_SHM);
	assert_int_equal(error, 0);
	snapshot_close(reader);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(requested_processes),
		cmocka_unit_test(ended),
		cmocka_unit_test(ended_meanwhile),
		cmocka_unit_test(identity_is_kept),
		cmocka_unit_test(taken_over),
		cmocka_unit_test(search_all),
		cmocka_unit_test(no_source),
		cmocka_unit_test(listed_now),
		cmocka_unit_test(search_keeps_nothing_open),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
