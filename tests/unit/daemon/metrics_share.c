// SPDX-License-Identifier: MIT
/*
 * Proves: the reader gets complete snapshots that the worker has published, also if a worker was
 * killed in the middle of writing one. The reader can neither write that memory nor map it
 * writable, and keeps no other shared memory that it could write. The reader's own counters survive
 * the reader.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four headers above */
#include <cmocka.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "scheduler/daemon/metrics/metrics_http.h"
#include "tests/lib/processes.h"

static uint32_t *of_the_worker; /* stands for memory that the daemon's processes share */

static void publish(uint64_t uptime)
{
	struct metrics_snapshot *room = metrics_share_room();

	MUST(room);
	memset(room, (int)uptime, sizeof(*room));
	room->uptime_ns = uptime;
	metrics_share_publish();
}

static void publish_three(void)
{
	for (uint64_t i = 1; i <= 3; i++)
		publish(i);
}

static void die_while_writing(void)
{
	struct metrics_snapshot *room = metrics_share_room();

	memset(room, 0xff, sizeof(*room) / 2);
	_exit(0);
}

static void read_the_third(void)
{
	static struct metrics_snapshot snapshot;

	MUST(metrics_share_read_only() == 0);
	MUST(metrics_share_current());
	MUST(metrics_share_read(&snapshot) && snapshot.uptime_ns == 3);
	/* The last byte proves that the whole snapshot was copied. */
	MUST(((unsigned char *)&snapshot)[sizeof(snapshot) - 1] == 3);
	metrics_share_counts()->refused_calls++;
}

static void map_of(const char *name, uintptr_t *start, uintptr_t *end)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	char line[4096];

	*start = 0;
	while (maps && fgets(line, sizeof(line), maps))
		if (strstr(line, name))
			MUST(sscanf(line, "%lx-%lx", start, end) == 2);
	MUST(maps && *start);
	fclose(maps);
}

static void write_what_is_read(void)
{
	uintptr_t start, end;

	MUST(metrics_share_read_only() == 0);
	MUST(metrics_share_room() == NULL);
	map_of("kfdschedd-metrics", &start, &end);
	errno = 0;
	MUST(mprotect((void *)start, end - start, PROT_READ | PROT_WRITE) == -1);
	MUST(errno == EACCES);
	*(volatile uint32_t *)start = 1;
}

static void write_to_the_worker(void)
{
	MUST(metrics_share_read_only() == 0);
	*(volatile uint32_t *)of_the_worker = 1;
}

static void nothing_is_read_before(void **state)
{
	static struct metrics_snapshot snapshot;

	(void)state;
	assert_false(metrics_share_current());
	assert_false(metrics_share_read(&snapshot));
}

static void what_was_published_is_read(void **state)
{
	(void)state;
	in_a_child(publish_three);
	in_a_child(read_the_third);
	in_a_child(die_while_writing);
	in_a_child(read_the_third);
	assert_int_equal(metrics_share_counts()->refused_calls, 2);
	metrics_share_worker_ended();
	assert_false(metrics_share_current());
}

static void ends_by_segv(void (*what)(void))
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		signal(SIGSEGV, SIG_DFL); /* overrides a sanitizer's handler */
		what();
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGSEGV)
		fail_msg("status 0x%x, not SIGSEGV", status);
}

static void a_reader_writes_nothing(void **state)
{
	(void)state;
	ends_by_segv(write_what_is_read);
	ends_by_segv(write_to_the_worker);
	assert_int_equal(*of_the_worker, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_is_read_before),
		cmocka_unit_test(what_was_published_is_read),
		cmocka_unit_test(a_reader_writes_nothing),
	};

	of_the_worker = mmap(NULL, sizeof(*of_the_worker), PROT_READ | PROT_WRITE,
			     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (of_the_worker == MAP_FAILED || metrics_share_create())
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
