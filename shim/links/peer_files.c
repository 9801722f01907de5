// SPDX-License-Identifier: MIT
#include "shim/links/peer_files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/clock.h"
#include "shim/descriptor.h"

#define SHM_END ".lane"
#define SOCKET_END ".socket"
#define NEW_END ".new" /* a shared-memory file that is not locked yet */

static bool is_own_dir(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == geteuid();
}

/* Makes the directory in XDG_RUNTIME_DIR. Makes it in /dev/shm instead if that variable
 * - is not set;
 * - names a directory that does not exist, as in containers;
 * - names a directory of another user, as under su and sudo. (Root could make it there, but that
 *   user could then no longer make its own.) */
static int make_dir(struct peers_own *own)
{
	if (is_own_dir(config.runtime_dir))
		snprintf(own->path, sizeof(own->path), "%s/kfdshim", config.runtime_dir);
	else
		snprintf(own->path, sizeof(own->path), "/dev/shm/kfdshim-%u", geteuid());
	return mkdir(own->path, 0700) == 0 || errno == EEXIST ? 0 : -errno;
}

/* Opens the directory, and makes it with mode 0700 if it does not exist. Returns 0 or a negative
 * errno; -EPERM if another user owns it, could read it or could write to it. */
static int open_dir(struct peers_own *own)
{
	struct stat st;
	int err;

	err = make_dir(own);
	if (err)
		return err;
	/* Every user can write to /dev/shm, so another user may have made this directory before. */
	if (lstat(own->path, &st) == 0 && st.st_uid != geteuid()) {
		own->owner = st.st_uid;
		return -EPERM;
	}
	own->directory =
		descriptor_keep(open(own->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
	if (own->directory < 0)
		return -errno;
	if (fstat(own->directory, &st) != 0)
		return -errno;
	if (st.st_uid != geteuid() || (st.st_mode & 0777) != 0700)
		return -EPERM;
	return 0;
}

static void file_name(char *to, size_t size, const char *name, const char *end)
{
	snprintf(to, size, "%s%s", name, end);
}

static int lock_shm(int fd)
{
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};

	return fcntl(fd, F_SETLK, &lock) == 0 ? 0 : -errno;
}

/* Makes the shared-memory file of this process under a temporary name, so that it is complete and
 * locked when it gets its real name. */
static int make_shm(struct peers_own *own, const struct client_shm *shm)
{
	char fresh[PEERS_NAME + 16], file[PEERS_NAME + 16];
	int err;

	file_name(fresh, sizeof(fresh), own->name, NEW_END);
	file_name(file, sizeof(file), own->name, SHM_END);
	own->shm = descriptor_keep(openat(
		own->directory, fresh, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
	if (own->shm < 0)
		return -errno;
	err = lock_shm(own->shm);
	if (!err && (ftruncate(own->shm, sizeof(*shm)) != 0 ||
		     pwrite(own->shm, shm, PEERS_SHM_BYTES, 0) != (ssize_t)PEERS_SHM_BYTES ||
		     renameat(own->directory, fresh, own->directory, file) != 0))
		err = errno ? -errno : -ENOSPC;
	if (err)
		unlinkat(own->directory, fresh, 0);
	return err;
}

bool peers_address(const struct peers_own *own, const char *name, struct sockaddr_un *out)
{
	int n;

	memset(out, 0, sizeof(*out));
	out->sun_family = AF_UNIX;
	n = snprintf(out->sun_path, sizeof(out->sun_path), "%s/%s" SOCKET_END, own->path, name);
	return n > 0 && n < (int)sizeof(out->sun_path);
}

static int make_socket(struct peers_own *own)
{
	struct sockaddr_un address;

	if (!peers_address(own, own->name, &address))
		return -ENAMETOOLONG;
	own->socket =
		descriptor_keep(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
	if (own->socket < 0)
		return -ENOTSUP;
	if (bind(own->socket, (struct sockaddr *)&address, sizeof(address)) != 0)
		return -errno;
	return 0;
}

int peers_own_open(struct peers_own *own, const struct client_shm *shm, const char **why)
{
	int err;

	*own = (struct peers_own){
		.directory = -1, .shm = -1, .socket = -1, .owner = PEERS_NO_OWNER};
	/* The name contains the time, so it changes with an exec. Otherwise a peer that removes the
	 * files of a dead process could remove those of a new process with the same PID. */
	snprintf(own->name, sizeof(own->name), "%d-%llu", (int)getpid(),
		 (unsigned long long)clock_ns() / 1000u);
	*why = "the directory";
	err = open_dir(own);
	/* Make the socket first, because a peer that sees the shared-memory file may send to it. */
	if (!err) {
		*why = "the socket in";
		err = make_socket(own);
	}
	if (!err) {
		*why = "the shared memory in";
		err = make_shm(own, shm);
	}
	if (err)
		peers_own_close(own, own->socket >= 0);
	return err;
}

static void remove_files(const struct peers_own *own, const char *name)
{
	char file[PEERS_NAME + 16];

	file_name(file, sizeof(file), name, SHM_END);
	unlinkat(own->directory, file, 0);
	file_name(file, sizeof(file), name, SOCKET_END);
	unlinkat(own->directory, file, 0);
}

void peers_own_close(struct peers_own *own, bool remove)
{
	if (remove)
		peers_own_unlink(own);
	descriptor_close(&own->shm);
	descriptor_close(&own->socket);
	descriptor_close(&own->directory);
}

void peers_own_unlink(const struct peers_own *own)
{
	if (own->directory >= 0)
		remove_files(own, own->name);
}

bool peers_name(const char *file, char name[PEERS_NAME], pid_t *pid)
{
	unsigned long long start;
	char again[PEERS_NAME + 16];
	int number;

	if (strlen(file) >= PEERS_NAME || sscanf(file, "%d-%llu", &number, &start) != 2)
		return false;
	snprintf(name, PEERS_NAME, "%d-%llu", number, start);
	file_name(again, sizeof(again), name, SHM_END);
	*pid = number;
	return number > 0 && strcmp(again, file) == 0;
}

int peers_check(const struct peers_own *own, int fd, const char *name, pid_t pid)
{
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};

	if (fcntl(fd, F_GETLK, &lock) != 0)
		return -errno;
	if (lock.l_type == F_UNLCK) {
		remove_files(own, name);
		return -ESRCH;
	}
	return lock.l_pid == pid ? 0 : -EXDEV;
}

int peers_open(const struct peers_own *own, const char *name, pid_t pid)
{
	char file[PEERS_NAME + 16];
	struct stat st;
	int fd, err;

	file_name(file, sizeof(file), name, SHM_END);
	fd = descriptor_keep(
		openat(own->directory, file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_uid != geteuid() ||
	    (st.st_size != (off_t)client_shm_bytes(CLIENT_SHM_VERSION) &&
	     st.st_size != (off_t)client_shm_bytes(CLIENT_SHM_OLDEST)))
		err = -EPROTO;
	else
		err = peers_check(own, fd, name, pid);
	if (!err)
		return fd;
	close(fd);
	return err;
}

int peers_read(int fd, struct client_shm *copy)
{
	const ssize_t more = sizeof(copy->more_nodes);

	if (pread(fd, copy, PEERS_SHM_BYTES, 0) != (ssize_t)PEERS_SHM_BYTES)
		return -EPROTO;
	if (copy->magic != CLIENT_SHM_MAGIC || copy->size == 0 ||
	    copy->size != client_shm_bytes(copy->version) || copy->priority < 0 ||
	    copy->priority > PRIORITY_ONLINE || !memchr(copy->group, '\0', sizeof(copy->group)))
		return -EPROTO;
	memset(copy->more_nodes, 0, sizeof(copy->more_nodes));
	if (copy->version == CLIENT_SHM_VERSION &&
	    client_shm_node_id(copy, CLIENT_SHM_NODES_2 - 1) &&
	    pread(fd, copy->more_nodes, (size_t)more, offsetof(struct client_shm, more_nodes)) !=
		    more)
		return -EPROTO;
	return 0;
}
