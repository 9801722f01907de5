// SPDX-License-Identifier: MIT
#include "sim/sandbox/mounts.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sim/host/time/page.h"
#include "sim/sandbox/dir_merge.h"
#include "sim/sandbox/machine.h"
#include "sim/sandbox/say.h"

#define LIBRARY "libkfdsim-time.so"
#define PRELOAD "/etc/ld.so.preload"
#define ADVICE                                                                                     \
	"run kfdsim as root, or allow user namespaces (sysctl user.max_user_namespaces, "          \
	"kernel.unprivileged_userns_clone, kernel.apparmor_restrict_unprivileged_userns; in a "    \
	"container: packaging/seccomp-kfdsim.json and docs/kfdsim/containers.md)"

/* Directories in which the host's entries are hidden: the topology of another GPU or the scheduler
 * of another simulation would be mixed into this one. */
static const char *const opaque[] = {
	"/dev/dri",
	"/sys/class/drm",
	"/sys/devices/virtual/kfd",
	"/sys/module/amdgpu",
	"/run/kfdsched",
	"/sys/kernel/debug",
	NULL,
};

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

/* Maps only the ids of the caller, to themselves, so that the only visible difference is the
 * additional capabilities. */
static int enter_user_namespace(void)
{
	uid_t uid = geteuid();
	gid_t gid = getegid();
	char map[64];
	int rc;

	if (unshare(CLONE_NEWUSER | CLONE_NEWNS))
		return -errno;
	/* Without this the kernel refuses the map of groups. Old kernels do not have the file. */
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

int mounts_enter(void)
{
	int rc = 0;

	if (unshare(CLONE_NEWNS)) {
		rc = errno == EPERM ? enter_user_namespace() : -errno;
		if (rc)
			return complain(STATUS_IMPOSSIBLE, "cannot make namespaces (%s): " ADVICE,
					strerror(-rc));
	}
	if (mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL))
		return complain(STATUS_IMPOSSIBLE,
				"cannot make the mounts private (%s): / must be a mount point, "
				"which it is not in a bare chroot",
				strerror(errno));
	return 0;
}

int mounts_tree(void)
{
	static const char *const dirs[] = {"dev/dri",	 "sys/devices",	 "sys/class",
					   "sys/module", "sys/dev/char", "run/kfdsched",
					   "host_run"};
	/* Copy the host's /run before it is covered. */
	int host_run =
		open_tree(AT_FDCWD, "/run", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE);
	int status = 0;

	if (host_run < 0)
		return complain(STATUS_IMPOSSIBLE, "cannot copy the mounts of /run (%s): " ADVICE,
				strerror(errno));
	/* The memory of the GPU is in this tmpfs. The simulated driver accounts for it; the limit
	 * only prevents an error there from exhausting the host's memory. */
	if (mount("kfdsim", "/run", "tmpfs", MS_NOSUID, "size=100%,mode=755"))
		status = complain(STATUS_IMPOSSIBLE, "cannot mount a tmpfs (%s): " ADVICE,
				  strerror(errno));
	for (size_t i = 0; i < sizeof(dirs) / sizeof(dirs[0]) && !status; i++)
		status = tree_dir(dirs[i]);
	if (!status && move_mount(host_run, "", AT_FDCWD, HOST_RUN, MOVE_MOUNT_F_EMPTY_PATH))
		status = complain(STATUS_IMPOSSIBLE, "cannot keep the host's /run (%s): " ADVICE,
				  strerror(errno));
	close(host_run);
	return status;
}

/* Creates an empty file that programs see as a device. */
static int device(const char *path, int *fd)
{
	*fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	if (*fd < 0 || fchmod(*fd, 0666))
		return complain(STATUS_FAILED, "cannot make %s (%s)", path, strerror(errno));
	return 0;
}

/* The text of /proc/modules with the simulated driver. */
#define MODULES TREE "/modules"

/* Writes the list of modules with amdgpu. rocminfo checks for the driver with libkmod, which reads
 * /proc/modules. */
static int modules(struct tree *tree)
{
	FILE *out = fopen(MODULES, "we");
	FILE *host = fopen("/proc/modules", "re");
	int c, bad;

	if (!out) {
		bad = errno;
		if (host)
			fclose(host);
		return complain(STATUS_FAILED, "cannot make %s (%s)", MODULES, strerror(bad));
	}
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
	return bad ? complain(STATUS_FAILED, "cannot write %s", MODULES) : 0;
}

int mounts_devices(struct tree *tree, unsigned nodes)
{
	char path[64];
	int status = device(TREE "/dev/kfd", &tree->kfd);

	if (!status)
		status = device(TREE "/render", &tree->render);
	for (unsigned i = 0; i < nodes && !status; i++) {
		snprintf(path, sizeof(path), TREE "/dev/dri/renderD%u", RENDER_MINOR + i);
		if (link(TREE "/render", path))
			status = complain(STATUS_FAILED, "cannot make %s (%s)", path,
					  strerror(errno));
	}
	if (!status)
		status = modules(tree);
	if (status)
		return status;
	tree->kfd_sysfs = open(TREE_KFD, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (tree->kfd_sysfs < 0)
		return complain(STATUS_FAILED, "cannot open %s (%s)", TREE_KFD, strerror(errno));
	status = tree_dir("sys/kernel/debug/kfd");
	if (status)
		return status;
	tree->debugfs = open(TREE_DEBUGFS "/kfd", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (tree->debugfs < 0 || chmod(TREE_DEBUGFS, 0700))
		return complain(STATUS_FAILED, "cannot make %s (%s)", TREE_DEBUGFS,
				strerror(errno));
	return 0;
}

/* Bind-mounts `from`, with everything mounted below it, over `to`. */
static int bind(const char *from, const char *to)
{
	if (mount(from, to, NULL, MS_BIND | MS_REC, NULL))
		return complain(STATUS_IMPOSSIBLE, "cannot bind %s (%s): " ADVICE, to,
				strerror(errno));
	return 0;
}

/*
 * For a pseudo-terminal the kernel searches for "pts" beside the ptmx that was opened
 * (devpts_acquire()). There is nothing beside a bind mount of the ptmx file alone, so ptmx is a
 * link into a second view of the host's whole /dev.
 */
static int keep_ptmx(void)
{
	int status = tree_dir("dev/.host");

	if (!status)
		status = tree_link("dev/ptmx", ".host/ptmx");
	return status ? status : bind("/dev", TREE "/dev/.host");
}

/* Covers `target` with the directory of the tree and shows the host's entries in it. */
static int cover(const char *host, const char *tree, const char *target)
{
	char real[64];
	int fd = open(host, O_PATH | O_DIRECTORY | O_CLOEXEC);
	int status;

	if (fd < 0)
		return complain(STATUS_IMPOSSIBLE, "cannot open the host's %s (%s)", target,
				strerror(errno));
	snprintf(real, sizeof(real), "/proc/self/fd/%d", fd);
	status = bind(tree, target);
	if (!status)
		status = merge(real, target, opaque);
	close(fd);
	return status;
}

/* ---- the additional files of a simulation in virtual time: sim/host/time/page.h ---- */

int mounts_open_library(int *library)
{
	char path[PATH_MAX + sizeof(LIBRARY)];
	ssize_t n = readlink("/proc/self/exe", path, PATH_MAX - 1);
	char *slash;

	path[n < 0 ? 0 : n] = '\0';
	slash = strrchr(path, '/');
	strcpy(slash ? slash + 1 : path, LIBRARY);
	*library = open(path, O_RDONLY | O_CLOEXEC);
	if (*library < 0)
		return complain(
			STATUS_FAILED,
			"cannot open %s (%s): virtual time needs this library beside kfdsim", path,
			strerror(errno));
	return 0;
}

/* Copies the time library into the tree, from where the programs of the simulation load it. */
static int copy_library(int library)
{
	int fd = open(TREE TIME_LIBRARY, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0755);
	struct stat st;
	off_t at = 0;

	if (fd < 0 || fchmod(fd, 0755) || fstat(library, &st))
		return complain(STATUS_FAILED, "cannot make %s (%s)", TREE TIME_LIBRARY,
				strerror(errno));
	while (at < st.st_size && sendfile(fd, library, &at, (size_t)(st.st_size - at)) > 0)
		;
	close(fd);
	return at == st.st_size ? 0 : complain(STATUS_FAILED, "cannot write %s", TREE TIME_LIBRARY);
}

/* Writes ld.so.preload: the entries of the host's file first, if it has one. */
static int name_library(void)
{
	char own[4096];
	int fd = open(PRELOAD, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, own, sizeof(own) - 1);

	if (fd >= 0)
		close(fd);
	own[n > 0 ? n : 0] = '\0';
	return tree_file("etc/ld.so.preload", "%s%s\n", own, TIME_LIBRARY);
}

int mounts_time(struct tree *tree, int library)
{
	int status = tree_dir(TIME_DIR + 1);

	if (status)
		return status;
	/* All users of the simulation write to the page. */
	tree->time_page = open(TREE TIME_PAGE, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	if (tree->time_page < 0 || fchmod(tree->time_page, 0666))
		return complain(STATUS_FAILED, "cannot make %s (%s)", TREE TIME_PAGE,
				strerror(errno));
	status = copy_library(library);
	return status ? status : name_library();
}

int mounts_sim(const struct root *root, bool virtual_time)
{
	int new_root = -1, status = 0;

	if (mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL))
		return complain(STATUS_IMPOSSIBLE,
				"cannot mount a fresh /proc (%s), which a container that masks "
				"parts of /proc forbids: " ADVICE,
				strerror(errno));
	if (!access("/proc/modules", F_OK))
		status = bind(MODULES, "/proc/modules");
	if (!status)
		status = keep_ptmx();
	if (!status)
		status = cover("/sys", TREE "/sys", "/sys");
	if (!status)
		status = cover("/dev", TREE "/dev", "/dev");
	if (!status && virtual_time && !root->directory[0])
		status = cover("/etc", TREE "/etc", "/etc");
	if (!status && root->directory[0])
		status = root_build(root, virtual_time, &new_root);
	/* This must be the last, because it covers the tree. */
	if (!status)
		status = cover(HOST_RUN, TREE "/run", "/run");
	if (!status && new_root >= 0)
		status = root_enter(new_root);
	if (!status && chdir(root->cwd))
		status = complain(STATUS_FAILED,
				  "cannot change to %s in the simulation (%s): start in another "
				  "directory",
				  root->cwd, strerror(errno));
	return status;
}
