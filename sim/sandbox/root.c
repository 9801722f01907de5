// SPDX-License-Identifier: MIT
#include "sim/sandbox/mounts.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sim/host/time/page.h"
#include "sim/sandbox/say.h"

#define NEW_ROOT TREE "/root"

/* Creates at `fake` a symbolic link with the text of `real`. If `real` has disappeared, does
 * nothing. Returns 0 or a negative errno. */
static int show_link(const char *real, const char *fake)
{
	char target[PATH_MAX];
	ssize_t n = readlink(real, target, sizeof(target) - 1);

	if (n < 0)
		return errno == ENOENT ? 0 : -errno;
	target[n] = '\0';
	return symlink(target, fake) ? -errno : 0;
}

/* Creates an empty directory or file and bind-mounts the real one over it. */
static int show_bound(const char *real, const char *fake, bool directory)
{
	int rc = 0;

	if (directory) {
		rc = mkdir(fake, 0755);
	} else {
		int fd = open(fake, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);

		if (fd < 0)
			rc = -1;
		else
			close(fd);
	}
	if (rc)
		return -errno;
	if (!mount(real, fake, NULL, MS_BIND | MS_REC, NULL))
		return 0;
	rc = -errno;
	/* The caller cannot access `real` on the host either, so leave it out. */
	if (rc == -ENOENT || rc == -EACCES) {
		if (directory)
			rmdir(fake);
		else
			unlink(fake);
		return 0;
	}
	return rc;
}

static bool listed(const char *const *list, const char *path)
{
	for (; *list; list++) {
		if (!strcmp(*list, path))
			return true;
	}
	return false;
}

static void merge_entry(const char *real, const char *fake, const char *const *opaque)
{
	struct stat theirs, ours;
	int rc;

	if (lstat(real, &theirs)) {
		if (errno == ENOENT || errno == EACCES)
			return;
		rc = -errno;
	} else if (!lstat(fake, &ours)) {
		if (S_ISDIR(theirs.st_mode) && S_ISDIR(ours.st_mode) && !listed(opaque, fake))
			merge(real, fake, opaque);
		return;
	} else if (S_ISLNK(theirs.st_mode)) {
		rc = show_link(real, fake);
	} else {
		rc = show_bound(real, fake, S_ISDIR(theirs.st_mode));
	}
	if (rc)
		die(STATUS_IMPOSSIBLE, "cannot mount the host's %s in the simulation (%s)", real,
		    strerror(-rc));
}

void merge(const char *real, const char *fake, const char *const *opaque)
{
	char from[PATH_MAX], to[PATH_MAX];
	struct dirent *entry;
	DIR *dir = opendir(real);

	if (!dir) {
		if (errno == ENOENT || errno == EACCES)
			return;
		die(STATUS_IMPOSSIBLE, "cannot read the host's %s (%s)", real, strerror(errno));
	}
	while ((entry = readdir(dir))) {
		if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
			continue;
		if (snprintf(from, sizeof(from), "%s/%s", real, entry->d_name) >=
			    (int)sizeof(from) ||
		    snprintf(to, sizeof(to), "%s/%s", fake, entry->d_name) >= (int)sizeof(to))
			continue; /* longer than any path that a program can open */
		merge_entry(from, to, opaque);
	}
	closedir(dir);
}

/* Stores the path of the new root. Dies unless it contains a system, that is, a directory /usr. */
static void find_dir(struct root *root, const char *directory)
{
	char path[PATH_MAX + 8];
	struct stat st;

	if (!realpath(directory, root->directory))
		die(STATUS_USAGE, "cannot change root to %s (%s)", directory, strerror(errno));
	if (stat(root->directory, &st) || !S_ISDIR(st.st_mode))
		die(STATUS_USAGE, "cannot change root to %s: it is not a directory", directory);
	if (!strcmp(root->directory, "/"))
		die(STATUS_USAGE, "--root / is the present root: omit it");
	snprintf(path, sizeof(path), "%s/usr", root->directory);
	if (stat(path, &st) || !S_ISDIR(st.st_mode))
		die(STATUS_USAGE,
		    "cannot change root to %s: it has no system (no directory /usr); "
		    "packaging/roots.sh creates such directories",
		    directory);
}

void root_find(struct root *root, const char *directory)
{
	ssize_t n;

	root->directory[0] = '\0';
	if (!getcwd(root->cwd, sizeof(root->cwd)))
		die(STATUS_FAILED, "cannot find the working directory (%s)", strerror(errno));
	n = readlink("/proc/self/exe", root->programs, sizeof(root->programs) - 1);
	root->programs[n < 0 ? 0 : n] = '\0';
	if (strrchr(root->programs, '/'))
		*strrchr(root->programs, '/') = '\0';
	if (directory)
		find_dir(root, directory);
}

/* Returns true if the path is the directory or below it. */
static bool inside(const char *path, const char *directory)
{
	size_t n = strlen(directory);

	return !strncmp(path, directory, n) && (!path[n] || path[n] == '/');
}

/* Returns where `path` of the host can be reached while the simulation's own files cover /run. */
static const char *host_path(const char *path, char *out, size_t size)
{
	if (!inside(path, "/run"))
		return path;
	snprintf(out, size, "%s%s", HOST_RUN, path + strlen("/run"));
	return out;
}

static _Noreturn void fail(const char *what, const char *path)
{
	die(STATUS_IMPOSSIBLE, "cannot %s %s in the new root (%s)", what, path, strerror(errno));
}

/* Creates the directories of `path` in the new root, each with the mode of the other system's
 * directory of that name. */
static void make_dirs(const struct root *root, const char *path)
{
	char name[2 * PATH_MAX], theirs[2 * PATH_MAX], part[PATH_MAX];
	struct stat st;

	for (const char *end = path; *end;) {
		end += strspn(end, "/");
		end += strcspn(end, "/");
		snprintf(part, sizeof(part), "%.*s", (int)(end - path), path);
		snprintf(name, sizeof(name), "%s%s", NEW_ROOT, part);
		snprintf(theirs, sizeof(theirs), "%s%s", root->directory, part);
		if (mkdir(name, 0755)) {
			if (errno != EEXIST)
				fail("make", path);
			continue;
		}
		if (!stat(theirs, &st) && S_ISDIR(st.st_mode) && chmod(name, st.st_mode & 07777))
			fail("make", path);
	}
}

/* Bind-mounts a directory of the host at the same path in the new root. */
static void bind_in(const struct root *root, const char *path)
{
	char host[2 * PATH_MAX], name[2 * PATH_MAX];

	make_dirs(root, path);
	snprintf(name, sizeof(name), "%s%s", NEW_ROOT, path);
	if (mount(host_path(path, host, sizeof(host)), name, NULL, MS_BIND | MS_REC, NULL))
		fail("bind", path);
}

/* Returns true if a directory of the host needs a bind mount of its own. Directories below /dev,
 * /proc, /run and /sys are visible already. */
static bool to_bind(const char *path)
{
	static const char *const own_trees[] = {"/dev", "/proc", "/run", "/sys"};

	if (!path[0] || !strcmp(path, "/"))
		return false;
	for (size_t i = 0; i < sizeof(own_trees) / sizeof(own_trees[0]); i++) {
		if (inside(path, own_trees[i]))
			return false;
	}
	return true;
}

int root_build(const struct root *root, bool virtual_time)
{
	static const char *const own_trees[] = {"/proc", "/sys", "/dev"};
	char cwd[2 * PATH_MAX], programs[2 * PATH_MAX], host[2 * PATH_MAX];
	const char *const opaque[] = {NEW_ROOT "/proc",
				      NEW_ROOT "/sys",
				      NEW_ROOT "/dev",
				      NEW_ROOT "/run",
				      cwd,
				      programs,
				      NULL};
	int fd;

	tree_dir("root");
	if (mount("kfdsim-root", NEW_ROOT, "tmpfs", MS_NOSUID, "mode=755"))
		fail("mount", "/");
	for (size_t i = 0; i < sizeof(own_trees) / sizeof(own_trees[0]); i++)
		bind_in(root, own_trees[i]);
	make_dirs(root, "/run");
	if (virtual_time)
		tree_file("root/etc/ld.so.preload", "%s\n", TIME_LIBRARY);
	/* If the working directory contains the executable's, one bind mount shows both. */
	if (to_bind(root->cwd))
		bind_in(root, root->cwd);
	if (to_bind(root->programs) && !inside(root->programs, root->cwd))
		bind_in(root, root->programs);
	snprintf(cwd, sizeof(cwd), "%s%s", NEW_ROOT, root->cwd);
	snprintf(programs, sizeof(programs), "%s%s", NEW_ROOT, root->programs);
	merge(host_path(root->directory, host, sizeof(host)), NEW_ROOT, opaque);
	fd = open(NEW_ROOT, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		fail("open", "/");
	return fd;
}

void root_enter(int fd)
{
	char run[64];

	snprintf(run, sizeof(run), "/proc/self/fd/%d/run", fd);
	if (mount("/run", run, NULL, MS_BIND | MS_REC, NULL))
		fail("bind", "/run");
	/* pivot_root(".", ".") stacks the old root on top of the new one, from where
	 * it is unmounted. */
	if (fchdir(fd) || syscall(SYS_pivot_root, ".", ".") || umount2(".", MNT_DETACH) ||
	    chdir("/"))
		die(STATUS_IMPOSSIBLE, "cannot change root (%s)", strerror(errno));
	close(fd);
}
