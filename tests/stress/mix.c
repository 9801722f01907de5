// SPDX-License-Identifier: MIT
/*
 * Runs a random mix of GPU programs for SECONDS seconds, under random SIGKILL and SIGSTOP:
 *
 *     chaos_mix SECONDS SEED SLOTS COMMANDS
 *
 * COMMANDS is a file with one shell command per line. At any time SLOTS of them run, chosen at
 * random. A command that is not killed has to end with status 0, within LIFE_S seconds in which it
 * was not stopped. At the end all commands are killed; the driver then has to list no other process
 * and to have all its memory free again. Prints the result as one JSON object.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/clock.h"
#include "tools/kfdconform/harness/harness.h"

#define SLOTS_MAX 64
#define COMMANDS_MAX 64
#define LINE_BYTES 1024
#define LIFE_S 90
#define TICK_MS 10
#define PROC "/sys/class/kfd/kfd/proc"

struct slot {
	pid_t pid;  /* also the process group; 0: empty slot */
	int output; /* memfd with its output, which is printed on failure */
	unsigned command;
	uint64_t started_ns, continue_ns; /* continue_ns: end of a SIGSTOP; 0: runs */
	bool killed;
};

static char commands[COMMANDS_MAX][LINE_BYTES];
static unsigned n_commands, n_slots;
static struct slot slots[SLOTS_MAX];
static uint64_t state;
static struct {
	unsigned started, done, killed, stopped, failed;
	unsigned done_by[COMMANDS_MAX];
} counts;

static uint64_t chance(uint64_t below)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (state >> 11) % below;
}

static void read_commands(const char *path)
{
	FILE *f = fopen(path, "re");

	CHECK(f);
	while (n_commands < COMMANDS_MAX && fgets(commands[n_commands], LINE_BYTES, f)) {
		commands[n_commands][strcspn(commands[n_commands], "\n")] = '\0';
		n_commands += commands[n_commands][0] != '\0';
	}
	fclose(f);
	CHECK(n_commands);
}

static void start(struct slot *slot)
{
	*slot = (struct slot){.command = (unsigned)chance(n_commands), .started_ns = clock_ns()};
	slot->output = memfd_create("output", MFD_CLOEXEC);
	CHECK(slot->output >= 0);
	slot->pid = fork();
	CHECK(slot->pid >= 0);
	if (!slot->pid) {
		setpgid(0, 0);
		dup2(slot->output, STDOUT_FILENO);
		dup2(slot->output, STDERR_FILENO);
		execl("/bin/sh", "sh", "-c", commands[slot->command], NULL);
		_exit(127);
	}
	setpgid(slot->pid, slot->pid);
	counts.started++;
}

static void complain(const struct slot *slot, const char *what, int number)
{
	char text[4096];
	ssize_t n = pread(slot->output, text, sizeof text, 0);

	fprintf(stderr, "chaos: %s %d: %s\n%.*s", what, number, commands[slot->command],
		n > 0 ? (int)n : 0, text);
	counts.failed++;
}

static void reap(struct slot *slot)
{
	int status;

	if (waitpid(slot->pid, &status, WNOHANG) != slot->pid)
		return;
	kill(-slot->pid, SIGKILL); /* processes that the command has left behind */
	if (!slot->killed && WIFEXITED(status) && !WEXITSTATUS(status)) {
		counts.done++;
		counts.done_by[slot->command]++;
	} else if (!slot->killed) {
		complain(slot, WIFEXITED(status) ? "exit status" : "killed by signal",
			 WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
	}
	close(slot->output);
	slot->pid = 0;
}

static void disturb(struct slot *slot, uint64_t now)
{
	if (slot->continue_ns && now >= slot->continue_ns) {
		slot->continue_ns = 0;
		kill(-slot->pid, SIGCONT);
	}
	/* Each happens about once in that many ticks. */
	if (!chance(600)) {
		slot->killed = true;
		kill(-slot->pid, SIGKILL);
		counts.killed++;
	} else if (!slot->continue_ns && !chance(300)) {
		kill(-slot->pid, SIGSTOP);
		slot->continue_ns = now + (50 + chance(1000)) * 1000000;
		/* the time on SIGSTOP does not count */
		slot->started_ns += slot->continue_ns - now;
		counts.stopped++;
	}
	if (!slot->killed && now > slot->started_ns &&
	    now - slot->started_ns > LIFE_S * 1000000000ull) {
		complain(slot, "no end within seconds:", LIFE_S);
		slot->killed = true;
		kill(-slot->pid, SIGKILL);
	}
}

static void end_all(void)
{
	for (unsigned i = 0; i < n_slots; i++)
		if (slots[i].pid) {
			slots[i].killed = true;
			kill(-slots[i].pid, SIGKILL);
		}
	for (unsigned i = 0; i < n_slots; i++)
		while (slots[i].pid) {
			reap(&slots[i]);
			sleep_ms(1);
		}
	/* Orphaned grandchildren are children of this process (PR_SET_CHILD_SUBREAPER). */
	while (waitpid(-1, NULL, WNOHANG) >= 0 || errno != ECHILD)
		sleep_ms(1);
}

static unsigned processes_known(void)
{
	DIR *dir = opendir(PROC);
	struct dirent *entry;
	unsigned n = 0;

	if (!dir)
		return 0;
	while ((entry = readdir(dir)))
		n += entry->d_name[0] != '.';
	closedir(dir);
	return n;
}

static uint64_t free_memory(const struct gpu_file *gpu)
{
	struct kfd_ioctl_get_available_memory_args a = {.gpu_id = gpu->gpu_id};

	CHECK_IS(harness_ioctl(gpu->kfd, KFDABI_AVAILABLE_MEMORY, &a, sizeof a), 0);
	return a.available;
}

static void print(unsigned seconds, unsigned left, uint64_t lost)
{
	printf("{\"seconds\": %u, \"started\": %u, \"done\": %u, \"killed\": %u, \"stopped\": %u, "
	       "\"failed\": %u, \"processes_left\": %u, \"memory_lost_bytes\": %llu, \"done_by\": "
	       "[",
	       seconds, counts.started, counts.done, counts.killed, counts.stopped, counts.failed,
	       left, (unsigned long long)lost);
	for (unsigned i = 0; i < n_commands; i++)
		printf("%s%u", i ? ", " : "", counts.done_by[i]);
	puts("]}");
}

int main(int argc, char **argv)
{
	unsigned seconds, left = 0;
	uint64_t until, before, after = 0;
	struct gpu_file gpu;

	if (argc != 5) {
		fprintf(stderr, "usage: chaos_mix SECONDS SEED SLOTS COMMANDS\n");
		return 2;
	}
	seconds = (unsigned)atoi(argv[1]);
	state = strtoull(argv[2], NULL, 0) * 2 + 1;
	n_slots = (unsigned)atoi(argv[3]);
	CHECK(n_slots && n_slots <= SLOTS_MAX);
	read_commands(argv[4]);
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	gpu_open(&gpu);
	before = free_memory(&gpu);
	until = clock_ns() + seconds * 1000000000ull;
	for (uint64_t now; (now = clock_ns()) < until; sleep_ms(TICK_MS))
		for (unsigned i = 0; i < n_slots; i++) {
			if (!slots[i].pid)
				start(&slots[i]);
			else
				disturb(&slots[i], now);
			if (slots[i].pid)
				reap(&slots[i]);
		}
	end_all();
	/* The driver removes the processes some time later, on a busy machine much later.
	 * This process stays listed. */
	for (unsigned i = 0; i < 2000; i++, sleep_ms(10)) {
		left = processes_known();
		after = free_memory(&gpu);
		if (left <= 1 && after == before)
			break;
	}
	print(seconds, left ? left - 1 : 0, before - after);
	return counts.failed || left > 1 || after != before;
}
