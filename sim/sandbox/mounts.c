// SPDX-License-Identifier: MIT
#include "sim/sandbox/mounts.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sim/host/time/page.h"
#include "sim/sandbox/profile.h"
#include "sim/sandbox/say.h"

#define LIBRARY "libkfdsim-time.so"
#define PRELOAD "/etc/ld.so.preload"
#define ADVICE                                                                                     \
	"run kfdsim as root, or allow user namespaces (sysctl user.max_user_namespaces, "          \
	"kernel.unprivileged_userns_clone, kernel.apparmor_restrict_unprivileged_userns; in a "    \
	"container: packaging/seccomp-kfdsim.json and docs/kfdsim/containers.md)"

/* Directories in which the host's entries are hidden. Otherwise the topology of another GPU or the
 * scheduler of another simulation would be mixed into this one. */
static const char *const opaque[] = {
	"/dev/dri",
	"/sys/class/drm",
	"/sys/devices/virtual/kfd",
	"/sys/module/amdgpu",
	"/run/kfdsched",
	"/sys/kernel/debug",
	NULL,
};

/* Creates the parent directories of `path` and, with `whole`, `path` itself. */
static int make_dirs(char *path, int whole)
{
	for (char *slash = strchr(path + 1, '/');; slash = strchr(slash + 1, '/')) {
		if (!slash && !whole)
			return 0;
		if (slash)
			*slash = '\0';
		if (mkdir(path, 0755) && errno != EEXIST)
			return -errno;
		if (!slash)
			return 0;
		*slash = '/';
	}
}

static void tree_path(char *out, size_t size, const char *path, int whole)
{
	int rc = -ENAMETOOLONG;

	if (snprintf(out, size, "%s/%s", TREE, path) < (int)size)
		rc = make_dirs(out, whole);
	if (rc)
		die(STATUS_FAILED, "cannot make %s/%s (%s)", TREE, path, strerror(-rc));
}

void tree_dir(const char *path)
{
	char full[PATH_MAX];

	tree_path(full, sizeof(full), path, 1);
}

void tree_bytes(const char *path, const void *bytes, size_t n)
{
	char full[PATH_MAX];
	FILE *file;
	int bad;

	tree_path(full, sizeof(full), path, 0);
	file = fopen(full, "we");
	if (!file)
		die(STATUS_FAILED, "cannot make %s (%s)", full, strerror(errno));
	bad = fwrite(bytes, 1, n, file) != n;
	bad |= fclose(file) != 0;
	bad |= chmod(full, 0444) != 0;
	if (bad)
		die(STATUS_FAILED, "cannot write %s", full);
}

void tree_file(const char *path, const char *format, ...)
{
	va_list args;
	char *text;
	int n;

	va_start(args, format);
	n = vasprintf(&text, format, args);
	va_end(args);
	if (n < 0)
		die(STATUS_FAILED, "out of memory for %s", path);
	tree_bytes(path, text, (size_t)n);
	free(text);
}

void tree_link(const char *path, const char *target)
{
	char full[PATH_MAX];

	tree_path(full, sizeof(full), path, 0);
	if (symlink(target, full))
		die(STATUS_FAILED, "cannot link %s (%s)", full, strerror(errno));
}

const char *tree_name(const char *format, ...)
{
	static char names[4][128];
	static unsigned next;
	char *name = names[next++ % 4];
	va_list args;

	va_start(args, format);
	vsnprintf(name, sizeof(names[0]), format, args);
	va_end(args);
	return name;
}

/* Writes a file of the new user namespace. Returns 0 or a negative errno. */
static int write_map(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return -errno;
	n = write(fd, text, strlen(text));
	if (n < 0)
		n = -errno;
	close(fd);
	return n < 0 ? (int)n : 0;
}

/* Enters a new user namespace that maps only the caller's ids, to themselves, so that the only
 * visible difference is the additional capabilities. Returns 0 or a negative errno. */
static int enter_user_namespace(void)
{
	uid_t uid = geteuid();
	gid_t gid = getegid();
	char map[64];
	int rc;

	if (unshare(CLONE_NEWUSER | CLONE_NEWNS))
		return -errno;
	/* Without "deny" the kernel refuses the map of groups. Old kernels do not have the file. */
	rc = write_map("/proc/self/setgroups", "deny");
	if (rc && rc != -ENOENT)
		return rc;
	snprintf(map, sizeof(map), "%u %u 1", uid, uid);
	rc = write_map("/proc/self/uid_map", map);
	if (rc)
		return rc;
	snprintf(map, sizeof(map), "%u %u 1", gid, gid);
	return write_map("/proc/self/gid_map", map);
}

void mounts_enter(void)
{
	int rc = 0;

	if (unshare(CLONE_NEWNS)) {
		rc = errno == EPERM ? enter_user_namespace() : -errno;
		if (rc)
			die(STATUS_IMPOSSIBLE, "cannot make namespaces (%s): " ADVICE,
			    strerror(-rc));
	}
	if (mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL))
		die(STATUS_IMPOSSIBLE,
		    "cannot make the mounts private (%s): / must be a mount point, "
		    "which it is not in a bare chroot",
		    strerror(errno));
}

void mounts_tree(void)
{
	static const char *const dirs[] = {"dev/dri",	 "sys/devices",	 "sys/class",
					   "sys/module", "sys/dev/char", "run/kfdsched",
					   "host_run"};
	/* Copy the host's /run before it is covered. */
	int host_run =
		open_tree(AT_FDCWD, "/run", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE);

	if (host_run < 0)
		die(STATUS_IMPOSSIBLE, "cannot copy the mounts of /run (%s): " ADVICE,
		    strerror(errno));
	/* The memory of the GPU is in this tmpfs. The simulated driver accounts for it; the limit
	 * only prevents an error in this accounting from exhausting the host's memory. */
	if (mount("kfdsim", "/run", "tmpfs", MS_NOSUID, "size=100%,mode=755"))
		die(STATUS_IMPOSSIBLE, "cannot mount a tmpfs (%s): " ADVICE, strerror(errno));
	for (size_t i = 0; i < sizeof(dirs) / sizeof(dirs[0]); i++)
		tree_dir(dirs[i]);
	if (move_mount(host_run, "", AT_FDCWD, HOST_RUN, MOVE_MOUNT_F_EMPTY_PATH))
		die(STATUS_IMPOSSIBLE, "cannot keep the host's /run (%s): " ADVICE,
		    strerror(errno));
	close(host_run);
}

/* Creates and opens an empty file that programs see as a device. */
static int device(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);

	if (fd < 0 || fchmod(fd, 0666))
		die(STATUS_FAILED, "cannot make %s (%s)", path, strerror(errno));
	return fd;
}

/* File with the text of /proc/modules and a line for the simulated driver. */
#define MODULES TREE "/modules"

/* Writes the list of modules with amdgpu. rocminfo checks for the driver with libkmod, which reads
 * /proc/modules. */
static void modules(struct tree *tree)
{
	FILE *host = fopen("/proc/modules", "re");
	FILE *out = fopen(MODULES, "we");
	int c, bad;

	if (!out)
		die(STATUS_FAILED, "cannot make %s (%s)", MODULES, strerror(errno));
	fputs("amdgpu 20000000 0 - Live 0x0000000000000000\n", out);
	tree->modules = -1;
	if (host) {
		while ((c = getc(host)) != EOF)
			putc(c, out);
		fclose(host);
	}
	bad = ferror(out);
	bad |= fclose(out);
	if (!bad && !host) {
		tree->modules = open(MODULES, O_RDONLY | O_CLOEXEC);
		bad = tree->modules < 0;
	}
	if (bad)
		die(STATUS_FAILED, "cannot write %s", MODULES);
}

void mounts_devices(struct tree *tree, unsigned nodes)
{
	char path[64];

	tree->kfd = device(TREE "/dev/kfd");
	tree->render = device(TREE "/render");
	for (unsigned i = 0; i < nodes; i++) {
		snprintf(path, sizeof(path), TREE "/dev/dri/renderD%u", RENDER_MINOR + i);
		if (link(TREE "/render", path))
			die(STATUS_FAILED, "cannot make %s (%s)", path, strerror(errno));
	}
	modules(tree);
	tree->kfd_sysfs = open(TREE_KFD, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (tree->kfd_sysfs < 0)
		die(STATUS_FAILED, "cannot open %s (%s)", TREE_KFD, strerror(errno));
	tree_dir("sys/kernel/debug/kfd");
	tree->debugfs = open(TREE_DEBUGFS "/kfd", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (tree->debugfs < 0 || chmod(TREE_DEBUGFS, 0700))
		die(STATUS_FAILED, "cannot make %s (%s)", TREE_DEBUGFS, strerror(errno));
}

/* Bind-mounts `from`, with everything mounted below it, over `to`. */
static void bind(const char *from, const char *to)
{
	if (mount(from, to, NULL, MS_BIND | MS_REC, NULL))
		die(STATUS_IMPOSSIBLE, "cannot bind %s (%s): " ADVICE, to, strerror(errno));
}

/*
 * Makes /dev/ptmx work. For a pseudo-terminal the kernel searches for "pts" beside the ptmx that
 * was opened (devpts_acquire()). There is nothing beside a bind mount of the ptmx file alone, so
 * ptmx is a link into a second view of the host's whole /dev.
 */
static void keep_ptmx(void)
{
	tree_dir("dev/.host");
	tree_link("dev/ptmx", ".host/ptmx");
	bind("/dev", TREE "/dev/.host");
}

/* Mounts the simulation's own files over `target`, and shows the host's entries in them. */
static void cover(const char *host, const char *tree, const char *target)
{
	char real[64];
	int fd = open(host, O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		die(STATUS_IMPOSSIBLE, "cannot open the host's %s (%s)", target, strerror(errno));
	snprintf(real, sizeof(real), "/proc/self/fd/%d", fd);
	bind(tree, target);
	merge(real, target, opaque);
	close(fd);
}

/* ---- the additional files of a simulation in virtual time (see sim/host/time/page.h) ---- */

int mounts_open_library(void)
{
	char path[PATH_MAX + sizeof(LIBRARY)];
	ssize_t n = readlink("/proc/self/exe", path, PATH_MAX - 1);
	char *slash;
	int library;

	path[n < 0 ? 0 : n] = '\0';
	slash = strrchr(path, '/');
	strcpy(slash ? slash + 1 : path, LIBRARY);
	library = open(path, O_RDONLY | O_CLOEXEC);
	if (library < 0)
		die(STATUS_FAILED,
		    "cannot open %s (%s): virtual time needs this library beside kfdsim", path,
		    strerror(errno));
	return library;
}

/* Copies the time library to the simulation's own files, from where the programs load it. */
static void copy_library(int library)
{
	int fd = open(TREE TIME_LIBRARY, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0755);
	struct stat st;
	off_t at = 0;

	if (fd < 0 || fchmod(fd, 0755) || fstat(library, &st))
		die(STATUS_FAILED, "cannot make %s (%s)", TREE TIME_LIBRARY, strerror(errno));
	while (at < st.st_size && sendfile(fd, library, &at, (size_t)(st.st_size - at)) > 0)
		;
	close(fd);
	if (at != st.st_size)
		die(STATUS_FAILED, "cannot write %s", TREE TIME_LIBRARY);
}

/* Writes ld.so.preload: the entries of the host's file, if there is one, and the library. */
static void name_library(void)
{
	char own[4096];
	int fd = open(PRELOAD, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, own, sizeof(own) - 1);

	if (fd >= 0)
		close(fd);
	own[n > 0 ? n : 0] = '\0';
	tree_file("etc/ld.so.preload", "%s%s\n", own, TIME_LIBRARY);
}

void mounts_time(struct tree *tree, int library)
{
	tree_dir(TIME_DIR + 1);
	/* All users of the simulation write to the page. */
	tree->time_page = open(TREE TIME_PAGE, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	if (tree->time_page < 0 || fchmod(tree->time_page, 0666))
		die(STATUS_FAILED, "cannot make %s (%s)", TREE TIME_PAGE, strerror(errno));
	copy_library(library);
	name_library();
}

void mounts_sim(const struct root *root, bool virtual_time)
{
	int new_root = -1;

	if (mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL))
		die(STATUS_IMPOSSIBLE,
		    "cannot mount a fresh /proc (%s), which a container that masks "
		    "parts of /proc forbids: " ADVICE,
		    strerror(errno));
	if (!access("/proc/modules", F_OK))
		bind(MODULES, "/proc/modules");
	keep_ptmx();
	cover("/sys", TREE "/sys", "/sys");
	cover("/dev", TREE "/dev", "/dev");
	if (virtual_time && !root->directory[0])
		cover("/etc", TREE "/etc", "/etc");
	if (root->directory[0])
		new_root = root_build(root, virtual_time);
	/* This must be the last mount, because it covers the tree, which is below /run. */
	cover(HOST_RUN, TREE "/run", "/run");
	if (new_root >= 0)
		root_enter(new_root);
	if (chdir(root->cwd))
		die(STATUS_FAILED,
		    "cannot change to %s in the simulation (%s): start in another "
		    "directory",
		    root->cwd, strerror(errno));
}
