// SPDX-License-Identifier: MIT
/* Checks of the files of debugfs kfd. They need root and a mounted debugfs. */
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "tools/kfdconform/checks.h"

#define DIR "/sys/kernel/debug/kfd/"
#define MQD_WORDS 512u
#define MQD_PIPE_PRIORITY 0x214u /* offsets in the MQD of a compute queue (v9) */
#define MQD_QUEUE_PRIORITY 0x218u
#define MQD_RING 0x220u
#define LATE_MS 2000u /* kfdsim updates some of the texts with a delay */
#define HQD_WORDS 56u
#define HQD_ACTIVE 2u
#define HQD_RING 8u
#define MAP_QUEUES 0xc005a200u
#define RUN_LIST 0xc002a500u

/* Returns the whole text of a file, valid until the next call. */
static char *debugfs_text(const char *name)
{
	static char *text;
	size_t n = 0, room = 1 << 16;
	char path[64], *more;
	ssize_t got;
	int fd;

	snprintf(path, sizeof path, DIR "%s", name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		SKIP("debugfs cannot be read: run as root, and mount it");
	free(text);
	text = malloc(room);
	CHECK(text);
	while ((got = read(fd, text + n, room - 1 - n)) > 0) {
		n += (size_t)got;
		if (n < room - 1)
			continue;
		more = realloc(text, room *= 2);
		CHECK(more);
		text = more;
	}
	close(fd);
	text[n] = '\0';
	return text;
}

/* Parses words from rows like "  00000220: 01234567 ...", starting at `at`. Stores up to `most`
 * words and returns the number of words in the rows; *rest is set to the end of the rows. */
static uint32_t words_of(const char *at, uint32_t *words, uint32_t most, const char **rest)
{
	uint32_t n = 0;

	for (;;) {
		const char *row = at + strspn(at, " ");
		char *end;

		strtoul(row, &end, 16);
		if (end != row + 8 || *end != ':')
			break;
		for (row = end + 1; *row == ' '; row = end) {
			uint32_t word = (uint32_t)strtoul(row, &end, 16);

			if (n < most)
				words[n] = word;
			n++;
		}
		at = row + (*row == '\n');
	}
	if (rest)
		*rest = at;
	return n;
}

static const char *next_line(const char *at)
{
	const char *end = strchr(at, '\n');

	return end ? end + 1 : at + strlen(at);
}

/* Returns the first line that begins with `start`, or NULL. */
static const char *line_like(const char *at, const char *start)
{
	for (; *at; at = next_line(at))
		if (!strncmp(at, start, strlen(start)))
			return at;
	return NULL;
}

/* ---- mqds ---- */

/* Returns the part of `text` (the file mqds) for this process, or NULL, and terminates `text`
 * behind this part. */
static const char *own_part(char *text)
{
	char start[64];
	const char *part, *next;

	snprintf(start, sizeof start, "Process %d PASID ", getpid());
	part = line_like(text, start);
	if (!part)
		return NULL;
	next = line_like(next_line(part), "Process ");
	if (next)
		text[next - text] = '\0';
	return part;
}

/* Returns the first line of the text that contains the ring address of this queue in an MQD, or
 * NULL. */
static const char *mqd_of(const char *at, const struct raw_queue *queue)
{
	uint64_t ring = (uint64_t)(uintptr_t)queue->ring.cpu >> 8;
	char start[64];

	snprintf(start, sizeof start, "    00000220: %08x %08x ", (uint32_t)ring,
		 (uint32_t)(ring >> 32));
	return line_like(at, start);
}

/* Returns the number of MQDs with the ring of this queue. */
static uint32_t mqds_of(const struct raw_queue *queue)
{
	const char *at = own_part(debugfs_text("mqds"));
	uint32_t n = 0;

	for (; at && (at = mqd_of(at, queue)); at = next_line(at))
		n++;
	return n;
}

static RULE_CHECK(mqds_tell_the_ring, gpu_open(&gpu))
{
	const char *at;
	char device[64];

	queue_new(&gpu, &self.queues[0]);
	CHECK(WITHIN(LATE_MS, mqds_of(&self.queues[0]) > 0));
	at = own_part(debugfs_text("mqds"));
	snprintf(device, sizeof device, "  Compute queue on device %x\n", gpu.gpu_id);
	CHECK(at && line_like(at, device));
	CHECK_IS(queue_destroy(&gpu, self.queues[0].id), 0);
	CHECK(WITHIN(LATE_MS, mqds_of(&self.queues[0]) == 0));
}

static RULE_CHECK(mqds_one_for_each_xcc, gpu_open(&gpu))
{
	queue_new(&gpu, &self.queues[0]);
	CHECK(WITHIN(LATE_MS, mqds_of(&self.queues[0]) == gpu.shape.xccs));
}

/* Reads a word of the first MQD that has the ring of this queue. Returns false if there is none. */
static bool mqd_word(const struct raw_queue *queue, uint32_t offset, uint32_t *word)
{
	uint64_t ring = (uint64_t)(uintptr_t)queue->ring.cpu >> 8;
	const char *at = own_part(debugfs_text("mqds"));
	uint32_t mqd[MQD_WORDS];

	for (; at && *at; at = next_line(at)) {
		if (strncmp(at, "    00000000: ", 14))
			continue;
		if (words_of(at, mqd, MQD_WORDS, NULL) < MQD_WORDS ||
		    mqd[MQD_RING / 4] != (uint32_t)ring ||
		    mqd[MQD_RING / 4 + 1] != (uint32_t)(ring >> 32))
			continue;
		*word = mqd[offset / 4];
		return true;
	}
	return false;
}

/* Returns a word of the MQD of a new queue with this priority. */
static uint32_t word_with_priority(uint32_t priority, uint32_t offset)
{
	struct kfdabi_create_queue args;
	uint32_t word = 0;

	queue_args(&gpu, &self.queues[0], &args);
	args.queue_priority = priority;
	CHECK_IS(queue_create(&gpu, &self.queues[0], &args), 0);
	CHECK(WITHIN(LATE_MS, mqd_word(&self.queues[0], offset, &word)));
	return word;
}

static RULE_CHECK(mqds_tell_the_pipe_priority, gpu_open(&gpu))
{
	CHECK_IS(word_with_priority(0, MQD_PIPE_PRIORITY), 0);
	CHECK_IS(word_with_priority(6, MQD_PIPE_PRIORITY), 0);
	CHECK_IS(word_with_priority(7, MQD_PIPE_PRIORITY), 1);
	CHECK_IS(word_with_priority(10, MQD_PIPE_PRIORITY), 1);
	CHECK_IS(word_with_priority(11, MQD_PIPE_PRIORITY), 2);
	CHECK_IS(word_with_priority(15, MQD_PIPE_PRIORITY), 2);
}

static RULE_CHECK(mqds_tell_the_queue_priority, gpu_open(&gpu))
{
	CHECK_IS(word_with_priority(3, MQD_QUEUE_PRIORITY), 3);
	CHECK_IS(word_with_priority(15, MQD_QUEUE_PRIORITY), 15);
}

RULE_IS(mqds_have_no_queue_priority, gpu_open(&gpu), word_with_priority(3, MQD_QUEUE_PRIORITY),
	word_with_priority(15, MQD_QUEUE_PRIORITY))

static RULE_CHECK(mqds_newest_queue_first, gpu_open(&gpu))
{
	struct raw_queue queues[2];
	const char *part;

	for (unsigned i = 0; i < 2; i++)
		queue_new(&gpu, &queues[i]);
	CHECK(WITHIN(LATE_MS, mqds_of(&queues[1]) == gpu.shape.xccs));
	part = own_part(debugfs_text("mqds"));
	CHECK(part && mqd_of(part, &queues[1]) && mqd_of(part, &queues[0]));
	CHECK(mqd_of(part, &queues[1]) < mqd_of(part, &queues[0]));
}

/* Returns what follows the pid in the first line of this process's part of mqds. */
static const char *pasid_in_mqds(void)
{
	const char *at = NULL;

	CHECK(WITHIN(LATE_MS, (at = own_part(debugfs_text("mqds")))));
	return strstr(at, " PASID ") + strlen(" PASID ");
}

static RULE_CHECK(mqds_name_pid_and_pasid, gpu_open(&gpu))
{
	const char *pasid = pasid_in_mqds();
	char wanted[32];

	CHECK(!strncmp(pasid, "0x", 2));
	snprintf(wanted, sizeof wanted, "%lu\n", strtoul(pasid, NULL, 16));
	CHECK(!strcmp(text_of(proc_path(getpid(), "pasid")), wanted));
}

static RULE_CHECK(mqds_name_the_pid_twice, gpu_open(&gpu))
{
	char wanted[32];

	snprintf(wanted, sizeof wanted, "%d:\n", getpid());
	CHECK(!strncmp(pasid_in_mqds(), wanted, strlen(wanted)));
}

/* ---- hqds ---- */

/* Returns the part of `text` (the file hqds or rls) for a node, and terminates `text` behind this
 * part. */
static const char *node_part(char *text, uint32_t gpu_id)
{
	for (const char *at = text; (at = line_like(at, "Node ")); at = next_line(at)) {
		const char *id = strstr(at, "gpu_id ");
		const char *next;

		if (!id || strtoul(id + 7, NULL, 16) != gpu_id)
			continue;
		next = line_like(next_line(at), "Node ");
		if (next)
			text[next - text] = '\0';
		return next_line(at);
	}
	CHECK(!"the node is in the text");
	return NULL;
}

/* Number of all compute slots of the node, set by active_slots(). */
static uint32_t slots;

/* Returns the number of compute slots of the node in which a queue with that ring is active. */
static uint32_t active_slots(const struct raw_queue *queue)
{
	uint64_t ring = (uint64_t)(uintptr_t)queue->ring.cpu >> 8;
	const char *at = node_part(debugfs_text("hqds"), gpu.gpu_id);
	uint32_t active = 0;

	slots = 0;
	while (*at) {
		uint32_t words[HQD_WORDS] = {0};
		unsigned inst, pipe, row;
		bool compute =
			sscanf(at, " Inst %u,  CP Pipe %u, Queue %u", &inst, &pipe, &row) == 3;

		at = next_line(at);
		if (!compute)
			continue;
		CHECK_IS(words_of(at, words, HQD_WORDS, &at), HQD_WORDS);
		slots++;
		active += words[HQD_ACTIVE] == 1 && words[HQD_RING] == (uint32_t)ring &&
			  words[HQD_RING + 1] == (uint32_t)(ring >> 32);
	}
	return active;
}

static RULE_CHECK(hqds_tell_every_slot, gpu_open(&gpu))
{
	active_slots(&self.queues[0]);
	CHECK_IS(slots, gpu.shape.cp_queues * gpu.shape.xccs);
}

static RULE_CHECK(hqds_active_on_every_xcc, gpu_open(&gpu))
{
	struct raw_queue queues[3];

	for (int i = 0; i < 3; i++)
		queue_new(&gpu, &queues[i]);
	for (int i = 0; i < 3; i++)
		CHECK_IS(active_slots(&queues[i]), gpu.shape.xccs);
}

/* Opens a session on the own process with one queue, which can be suspended. */
static void open_session(void)
{
	self_debug_open(1);
	gpu = self.gpu;
}

static RULE_CHECK(hqds_suspended_queue_is_inactive, open_session())
{
	CHECK(active_slots(&self.queues[0]) > 0);
	self_debug_suspend_one(&self.queues[0]);
	CHECK_IS(active_slots(&self.queues[0]), 0);
	self_debug_resume_one(&self.queues[0]);
	CHECK(active_slots(&self.queues[0]) > 0);
}

/* ---- rls ---- */

/* Returns the words of the runlist, followed by zeros; the caller frees them. *n: their number. */
static uint32_t *runlist(uint32_t *n)
{
	const char *part = node_part(debugfs_text("rls"), gpu.gpu_id);
	uint32_t *words;

	*n = words_of(part, NULL, 0, NULL);
	words = calloc(*n + 8, sizeof *words);
	CHECK(words);
	words_of(part, words, *n, NULL);
	return words;
}

/* Returns whether the runlist has a MAP_QUEUES packet for this queue, recognized by the address of
 * the write pointer. */
static bool maps(const struct raw_queue *queue)
{
	uint64_t wptr = (uint64_t)(uintptr_t)queue_wptr(queue);
	uint32_t n, *words = runlist(&n);
	bool found = false;

	for (uint32_t i = 0; i < n; i++)
		found |= words[i] == MAP_QUEUES && words[i + 5] == (uint32_t)wptr &&
			 words[i + 6] == (uint32_t)(wptr >> 32);
	free(words);
	return found;
}

static RULE_CHECK(rls_maps_active_queues, open_session())
{
	queue_new(&gpu, &self.queues[1]);
	CHECK(WITHIN(LATE_MS, maps(&self.queues[0])));
	self_debug_suspend_one(&self.queues[0]);
	CHECK(WITHIN(LATE_MS, !maps(&self.queues[0])));
	/* Wait, because the runlist is empty during an update, also with the real driver. */
	CHECK(WITHIN(LATE_MS, maps(&self.queues[1])));
	self_debug_resume_one(&self.queues[0]);
	CHECK(WITHIN(LATE_MS, maps(&self.queues[0])));
}

static RULE_CHECK(rls_says_when_there_is_none, gpu_open(&gpu))
{
	const char *part = NULL;

	/* Queues of a process that has just ended may still be in the runlist. */
	if (!WITHIN(LATE_MS, (part = node_part(debugfs_text("rls"), gpu.gpu_id),
			      !words_of(part, NULL, 0, NULL))))
		SKIP("queues of another process are on the GPU");
	CHECK(!strcmp(part, "  No active runlist\n"));
}

/* Returns whether the last packet leads back to the start of the runlist. */
static bool chained(void)
{
	uint32_t n, *words = runlist(&n);
	bool is = n > 4 && words[n - 4] == RUN_LIST;

	free(words);
	return is;
}

/* Creates queues that share their buffers, because they have nothing to do. */
static RULE_CHECK(oversubscribed_runlist_is_chained, gpu_open(&gpu))
{
	struct kfdabi_create_queue args, again;
	struct raw_queue first;

	queue_new(&gpu, &first);
	CHECK(WITHIN(LATE_MS, maps(&first)));
	if (!WITHIN(LATE_MS, !chained()) && !harness_simulated())
		SKIP("the GPU is oversubscribed by other processes");
	CHECK(!chained());
	queue_args(&gpu, &self.queues[0], &args);
	for (uint32_t i = 0; i < gpu.shape.cp_queues; i++) {
		again = args;
		CHECK_IS(harness_ioctl(gpu.kfd, KFDABI_CREATE_QUEUE, &again, sizeof again), 0);
	}
	CHECK(WITHIN(LATE_MS, chained()));
	CHECK_IS(queue_destroy(&gpu, first.id), 0);
	CHECK(WITHIN(LATE_MS, !chained()));
}

/* ---- proc ---- */

static unsigned long pasid_in_debugfs(pid_t pid)
{
	char name[64];

	snprintf(name, sizeof name, "proc/%d/pasid_%u", (int)pid, gpu.gpu_id);
	return strtoul(debugfs_text(name), NULL, 10);
}

static RULE_CHECK(debugfs_tells_the_pasid, gpu_open(&gpu))
{
	struct child child;
	unsigned long own;

	debugfs_text("mqds"); /* skips the check if there is no debugfs */
	own = pasid_in_debugfs(getpid());
	CHECK(own > 0);
	device_child_start(&child);
	CHECK(pasid_in_debugfs(child.pid) > 0);
	CHECK(pasid_in_debugfs(child.pid) != own);
	device_child_end(&child);
}

/* ---- mem_limit ---- */

/* Returns the used system memory in MiB. */
static unsigned long long system_used(void)
{
	unsigned long long used, most;

	CHECK_IS(sscanf(debugfs_text("mem_limit"), "System mem used %lluM out of %lluM\n", &used,
			&most),
		 2);
	CHECK(line_like(debugfs_text("mem_limit"), "TTM mem used "));
	CHECK(used <= most);
	return used;
}

static RULE_CHECK(mem_limit_counts_system_memory, gpu_open(&gpu))
{
	unsigned long long before = 0, now = 0;
	struct buffer gtt;

	/* Another process may free memory at the same time; then try again. */
	for (unsigned tries = 0; tries < 10 && now != before + 8; tries++) {
		if (tries)
			TRY_AGAIN("another process freed memory meanwhile");
		before = now = system_used();
		gtt_new(&gpu, 8 << 20, &gtt);
		if (!WITHIN(LATE_MS, (now = system_used()) != before))
			break;
	}
	CHECK_IS(now, before + 8);
}
