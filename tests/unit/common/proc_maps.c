// SPDX-License-Identifier: MIT
/*
 * Proves the search in /proc/PID/maps: files that are mapped, files that are not, and processes
 * without memory.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
/* clang-format off: cmocka wants some of the above first */
#include <cmocka.h>
/* clang-format on */

#include "common/proc.h"

static char directory[] = "/tmp/libproc_maps.XXXXXX"; /* a directory that is named like a library */

static int make_dir(void **state)
{
	(void)state;
	return mkdtemp(directory) ? 0 : -1;
}

static int remove_dir(void **state)
{
	(void)state;
	return rmdir(directory);
}

static void *map_file(const char *name)
{
	char path[64];
	void *map;
	int fd;

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, 4096), 0);
	map = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0);
	assert_ptr_not_equal(map, MAP_FAILED);
	assert_int_equal(unlink(path), 0);
	close(fd);
	return map;
}

static void a_library_is_found_by_its_name(void **state)
{
	char path[128] = "as it was", wanted[128];
	void *map;

	(void)state;
	assert_int_equal(proc_maps_find(getpid(), "libwanted.so", path, sizeof(path)), 0);
	assert_string_equal(path, "as it was");
	map = map_file("libwanted.so.1.2");
	assert_int_equal(proc_maps_find(getpid(), "libwanted.so", NULL, 0), 1);
	assert_int_equal(proc_maps_find(getpid(), "libwanted.so", path, sizeof(path)), 1);
	snprintf(wanted, sizeof(wanted), "%s/libwanted.so.1.2 (deleted)", directory);
	assert_string_equal(path, wanted);
	assert_int_equal(proc_maps_find(getpid(), "wanted.so", NULL, 0), 0);
	munmap(map, 4096);
	assert_int_equal(proc_maps_find(getpid(), "libwanted.so", NULL, 0), 0);
}

static void a_dir_of_that_name_is_none(void **state)
{
	void *map = map_file("other");

	(void)state;
	assert_int_equal(proc_maps_find(getpid(), "libproc_maps", NULL, 0), 0);
	munmap(map, 4096);
}

static void a_zombie_has_no_memory(void **state)
{
	pid_t pid = fork();
	siginfo_t info;

	(void)state;
	if (pid == 0)
		_exit(0);
	assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
	assert_int_equal(proc_maps_find(pid, "lib", NULL, 0), -ESRCH);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_int_equal(proc_maps_find(pid, "lib", NULL, 0), -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_library_is_found_by_its_name),
		cmocka_unit_test(a_dir_of_that_name_is_none),
		cmocka_unit_test(a_zombie_has_no_memory),
	};

	return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
