/* SPDX-License-Identifier: MIT */
/*
 * The functions that the object files of a simulated process call instead of libc's (edges.txt
 * renames them): same arguments, same results, and the same errno. Another fiber may run at each
 * call.
 *
 * Threads: fibers of one real thread (fiber.h).
 */
#ifndef KFDSHIM_TESTS_SEEDED_CALLS_H
#define KFDSHIM_TESTS_SEEDED_CALLS_H

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <time.h>

/* ---- calls_files.c ---- */
int played_access(const char *path, int mode);
int played_close(int fd);
int played_epoll_create1(int flags);
int played_epoll_ctl(int epoll, int op, int fd, struct epoll_event *event);
int played_epoll_pwait2(int epoll, struct epoll_event *out, int most,
			const struct timespec *timeout, const sigset_t *mask);
int played_epoll_wait(int epoll, struct epoll_event *out, int most, int timeout_ms);
int played_eventfd(unsigned count, int flags);
int played_fcntl(int fd, int command, ...);
int played_fstat(int fd, struct stat *out);
int played_getsockopt(int fd, int level, int name, void *value, socklen_t *size);
int played_ioctl(int fd, unsigned long request, ...);
int played_memfd_create(const char *name, unsigned flags);
void *played_mmap(void *at, size_t size, int protection, int flags, int fd, off_t offset);
int played_munmap(void *at, size_t size);
int played_open(const char *path, int flags, ...);
DIR *played_opendir(const char *path);
int played_pipe2(int fds[2], int flags);
int played_poll(struct pollfd *fds, nfds_t count, int timeout_ms);
int played_ppoll(struct pollfd *fds, nfds_t count, const struct timespec *timeout,
		 const sigset_t *mask);
ssize_t played_pread(int fd, void *to, size_t size, off_t offset);
ssize_t played_pwrite(int fd, const void *from, size_t size, off_t offset);
ssize_t played_read(int fd, void *to, size_t size);
ssize_t played_recv(int fd, void *to, size_t size, int flags);
int played_setsockopt(int fd, int level, int name, const void *value, socklen_t size);
int played_shutdown(int fd, int how);
int played_signalfd(int fd, const sigset_t *set, int flags);
int played_stat(const char *path, struct stat *out);
ssize_t played_write(int fd, const void *from, size_t size);
int played_protocol_send(int fd, const void *data, size_t size, const int *fds, size_t nfds);
int played_protocol_receive(int fd, void *data, size_t size, int *fds, size_t *nfds,
			    int timeout_ms);

/* ---- calls.c ---- */
int played_clock_nanosleep(clockid_t clock, int flags, const struct timespec *t,
			   struct timespec *left);
uint64_t played_clock_of(clockid_t id);
int played_dlclose(void *handle);
char *played_dlerror(void);
void *played_dlopen(const char *name, int flags);
void *played_dlsym(void *handle, const char *name);
uid_t played_geteuid(void);
char *played_getenv(const char *name);
pid_t played_getpid(void);
int played_getrlimit(int resource, struct rlimit *out);
pid_t played_gettid(void);
int played_nanosleep(const struct timespec *t, struct timespec *left);
int played_prctl(int option, ...);
int played_pthread_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void));
int played_pthread_attr_destroy(pthread_attr_t *attr);
int played_pthread_attr_init(pthread_attr_t *attr);
int played_pthread_attr_setdetachstate(pthread_attr_t *attr, int state);
int played_pthread_attr_setstacksize(pthread_attr_t *attr, size_t size);
int played_pthread_create(pthread_t *out, const pthread_attr_t *attr, void *(*body)(void *),
			  void *arg);
void *played_pthread_getspecific(pthread_key_t key);
int played_pthread_key_create(pthread_key_t *key, void (*end)(void *));
int played_pthread_setspecific(pthread_key_t key, const void *value);
int played_pthread_mutex_init(pthread_mutex_t *mutex, const pthread_mutexattr_t *attr);
int played_pthread_mutex_lock(pthread_mutex_t *mutex);
int played_pthread_mutex_trylock(pthread_mutex_t *mutex);
int played_pthread_mutex_unlock(pthread_mutex_t *mutex);
pthread_t played_pthread_self(void);
int played_pthread_setcancelstate(int state, int *old);
int played_setrlimit(int resource, const struct rlimit *limit);
int played_pthread_sigmask(int how, const sigset_t *set, sigset_t *old);
int played_sigprocmask(int how, const sigset_t *set, sigset_t *old);
long played_syscall(long number, ...);

/* ---- calls_urcu.c ---- */
void played_urcu_bp_register_thread(void);
void played_urcu_bp_read_lock(void);
void played_urcu_bp_read_unlock(void);
int played_urcu_bp_read_ongoing(void);
void played_urcu_bp_synchronize_rcu(void);
void played_urcu_bp_before_fork(void);
void played_urcu_bp_after_fork_parent(void);
void played_urcu_bp_after_fork_child(void);

#endif
