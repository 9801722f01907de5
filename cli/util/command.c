// SPDX-License-Identifier: MIT
/* What all commands share: messages, numbers in arguments, other binaries, LD_PRELOAD. */
#include "cli/util/command.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/allocate.h"
#include "common/text.h"

#define SHIM_NAME "libkfdshim.so"
#define PRELOAD "LD_PRELOAD="

/* Prints a text with control characters replaced: names in it are chosen by other users, and a
 * terminal obeys control characters. */
static void talk(FILE *out, const char *fmt, va_list ap)
{
	char *text = NULL;

	if (vasprintf(&text, fmt, ap) < 0)
		allocated(NULL);
	fputs(plain_text(text), out);
	free(text);
}

void cli_print_error(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	talk(stdout, fmt, ap);
	va_end(ap);
	putchar('\n');
}

int cli_help(const struct cli_command *cmd)
{
	printf("Usage: kfdsched %s %s\n\n%s", cmd->name, cmd->usage, cmd->help);
	if (cmd->exits)
		printf("\nExit status:\n%s\n", cmd->exits);
	return CLI_DONE;
}

int cli_usage(const struct cli_command *cmd, const char *fmt, ...)
{
	va_list ap;

	fprintf(stderr, "kfdsched %s: ", cmd->name);
	va_start(ap, fmt);
	talk(stderr, fmt, ap);
	va_end(ap);
	fprintf(stderr, "; usage: kfdsched %s %s\n", cmd->name, cmd->usage);
	return CLI_USAGE;
}

int cli_failed(const struct cli_command *cmd, const char *fmt, ...)
{
	va_list ap;

	fprintf(stderr, "kfdsched %s: ", cmd->name);
	va_start(ap, fmt);
	talk(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	return CLI_FAILED;
}

void cli_warn_session(const struct cli_command *cmd, int pid)
{
	if (access("/dev/kfd", F_OK) == 0) /* otherwise no session can be opened */
		cli_failed(cmd, "opens a debug session on process %d: " CLI_SESSION_DANGER, pid);
}

int cli_exit_code(int status)
{
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

int cli_pid(const char *text)
{
	char *end;
	long pid = strtol(text, &end, 10);

	return end == text || *end != '\0' || pid <= 0 || pid > INT_MAX ? 0 : (int)pid;
}

int cli_check_output(const struct cli_command *cmd, const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);

	if (fd >= 0)
		unlink(path);
	else if (errno == EEXIST && access(path, W_OK) == 0) /* without open(): it may be a pipe */
		return CLI_DONE;
	if (fd >= 0)
		close(fd);
	return fd < 0 ? cli_failed(cmd, "cannot write %s: %s", path, strerror(errno)) : CLI_DONE;
}

int cli_close_output(const struct cli_command *cmd, const char *path, FILE *file)
{
	int error = file ? 0 : errno;

	if (file && fflush(file) != 0)
		error = errno;
	else if (file && ferror(file))
		error = EIO; /* errno of the failed write(2) is lost */
	if (file && fclose(file) != 0 && !error)
		error = errno;
	return error ? cli_failed(cmd, "cannot write %s: %s", path, strerror(error)) : CLI_DONE;
}

int cli_beside(const char *name, char path[PATH_MAX])
{
	static const char *const dirs[] = {"", "../lib/"};
	char self[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	if (n <= 0)
		return -ENOENT;
	self[n] = '\0';
	*(strrchr(self, '/') + 1) = '\0';
	for (size_t i = 0; i < sizeof(dirs) / sizeof(dirs[0]); i++) {
		char tried[2 * PATH_MAX];

		snprintf(tried, sizeof(tried), "%s%s%s", self, dirs[i], name);
		/* The path is made absolute, because a process that inherits it may change its
		 * directory, and because "bin/../lib" is hard to read in the environment of a
		 * process. */
		if (realpath(tried, path))
			return 0;
	}
	return -ENOENT;
}

int cli_need(const struct cli_command *cmd, const char *name, bool shim, char path[PATH_MAX])
{
	if (cli_beside(name, path))
		return cli_failed(cmd,
				  "%s is neither in the directory of kfdsched nor in ../lib: build "
				  "or install it there",
				  name);
	if (shim && strpbrk(path, " :"))
		return cli_failed(cmd,
				  "LD_PRELOAD cannot contain %s, which has a space or colon: move "
				  "the build to another directory",
				  path);
	return CLI_DONE;
}

/* Returns true if an entry of LD_PRELOAD is libkfdshim.so, in any directory. */
static bool is_shim(const char *entry, size_t length)
{
	const size_t n = strlen(SHIM_NAME);

	return length >= n && memcmp(entry + length - n, SHIM_NAME, n) == 0 &&
	       (length == n || entry[length - n - 1] == '/');
}

const char *cli_temporary(void)
{
	const char *directory = getenv("TMPDIR");

	return directory && directory[0] == '/' ? directory : "/tmp";
}

static int remove_entry(const char *path, const struct stat *status, int type, struct FTW *place)
{
	(void)status, (void)type, (void)place;
	if (remove(path) != 0)
		fprintf(stderr, "kfdsched: cannot remove %s: %m\n", path);
	return 0;
}

void cli_remove(const char *path)
{
	nftw(path, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
}

char *cli_preload(const char *shim)
{
	const char *old = getenv("LD_PRELOAD");
	size_t room = (shim ? strlen(shim) : 0) + (old ? strlen(old) : 0) + 2;
	char *setting = allocate(strlen(PRELOAD) + room, 1);
	char *value = stpcpy(setting, PRELOAD);

	if (shim)
		strcpy(value, shim);
	for (const char *entry = old; entry && *entry;) {
		size_t length = strcspn(entry, " :");

		if (length > 0 && !is_shim(entry, length)) {
			if (value[0] != '\0')
				strcat(value, ":");
			strncat(value, entry, length);
		}
		entry += length + (entry[length] != '\0');
	}
	if (!value[0])
		value[-1] = '\0';
	return setting;
}
