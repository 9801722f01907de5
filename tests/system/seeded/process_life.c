// SPDX-License-Identifier: MIT
/* Start, exec and end of simulated processes (process.h). */
#include <malloc.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "tests/system/seeded/driver.h"
#include "tests/system/seeded/files.h"

#define LINE 64 /* bytes of a cache line */
#define PROCESSES 128
#define FIRST_PID 1000
#define GONE_MOST_NS (2 * MS) /* maximum from a kill until the pidfd becomes readable */

/* `memory`: what is to be freed. The core's tables have 50 MB, of which a run uses little, so the
 * memory has to be zero without being written: mallopt() in processes_begin(). */
struct allocation {
	struct allocation *next, **at;
	void *memory;
	size_t size;
	char bytes[] __attribute__((aligned(LINE)));
};

static struct process processes[PROCESSES];
static unsigned process_count;

/* ---- images ---- */

/* Copies words instead of calling memcpy(), because the memory between two objects is poisoned by
 * the sanitizer. */
__attribute__((no_sanitize_address, optimize("no-tree-loop-distribute-patterns"))) static void
copy(char *to, const char *from, size_t size)
{
	uint64_t *words = (uint64_t *)to;
	const uint64_t *their = (const uint64_t *)from;

	for (size_t i = 0; i < size / sizeof(*words); i++)
		words[i] = their[i];
	for (size_t i = size & -sizeof(*words); i < size; i++)
		to[i] = from[i];
}

void images_keep(struct image *images, unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		size_t size = (size_t)(images[i].end - images[i].begin);

		images[i].initial = malloc(size);
		if (!images[i].initial)
			abort();
		copy(images[i].initial, images[i].begin, size);
	}
}

static void load(struct image *image, struct process *user)
{
	if (image->last)
		fiber_acquire(image->last);
	image->user = image->last = user;
	copy(image->begin, image->initial, (size_t)(image->end - image->begin));
}

/* ---- the heap ---- */

static struct allocation *allocate(size_t size)
{
	char *memory = calloc(1, sizeof(struct allocation) + size + LINE - 1);
	struct allocation *made =
		(struct allocation *)(((uintptr_t)memory + LINE - 1) & -(uintptr_t)LINE);
	struct process *owner = fiber_process();

	if (!memory)
		abort();
	made->memory = memory;
	made->size = size;
	made->next = owner->heap;
	made->at = &owner->heap;
	if (made->next)
		made->next->at = &made->next;
	owner->heap = made;
	return made;
}

static void release(struct allocation *allocation)
{
	*allocation->at = allocation->next;
	if (allocation->next)
		allocation->next->at = allocation->at;
	free(allocation->memory);
}

static struct allocation *allocation_of(void *at)
{
	return (struct allocation *)((char *)at - offsetof(struct allocation, bytes));
}

void *played_calloc(size_t n, size_t size)
{
	HARNESS;

	return allocate(n * size)->bytes;
}

void *played_malloc(size_t size)
{
	HARNESS;

	return allocate(size)->bytes;
}

void played_free(void *at)
{
	HARNESS;

	if (at)
		release(allocation_of(at));
}

void *played_realloc(void *at, size_t size)
{
	HARNESS;
	void *to = allocate(size)->bytes;

	if (!at)
		return to;
	memcpy(to, at, allocation_of(at)->size < size ? allocation_of(at)->size : size);
	release(allocation_of(at));
	return to;
}

static void free_heap(struct process *process)
{
	while (process->heap)
		release(process->heap);
}

/* ---- processes ---- */

void processes_begin(void)
{
	mallopt(M_MMAP_THRESHOLD, 1 << 20); /* fixed: free() would raise it */
	memset(processes, 0, sizeof(processes));
	process_count = 0;
}

void processes_end(void)
{
	files_end();
	for (unsigned i = 0; i < process_count; i++) {
		files_close_of(&processes[i]);
		free_heap(&processes[i]);
		if (processes[i].image)
			processes[i].image->user = NULL;
	}
}

struct process *process_of(pid_t pid)
{
	unsigned i = (unsigned)(pid - FIRST_PID);

	return pid >= FIRST_PID && i < process_count ? &processes[i] : NULL;
}

struct process *process_next(const struct process *process)
{
	unsigned i = process ? (unsigned)(process - processes) + 1 : 0;

	return i < process_count ? &processes[i] : NULL;
}

struct process *process_start(const char *name, struct image *image, void (*body)(void *),
			      void *arg)
{
	struct process *process = &processes[process_count];

	if (process_count == PROCESSES) {
		fail("more than %d processes", PROCESSES);
		return NULL;
	}
	process->pid = FIRST_PID + (pid_t)process_count++;
	snprintf(process->name, sizeof(process->name), "%s", name);
	process->image = image;
	process->running = true;
	process->program = 1;
	process->uid = 1001;
	process->pid_ns = process->user_ns = 1;
	if (image)
		load(image, process);
	fiber_start(process, process->name, body, arg);
	note("process %d (%s) starts", (int)process->pid, process->name);
	return process;
}

static bool is_gone(void *arg)
{
	(void)arg;
	return false;
}

/* Releases what remains of a process after the end of its threads. */
static void free_process(void *arg)
{
	struct process *process = arg;

	driver_process_ended(process);
	fiber_wait(is_gone, NULL, process->gone_ns);
	process->gone = true;
	if (process->image)
		process->image->user = NULL;
	fiber_changed();
	if (process->on_gone)
		process->on_gone(process);
}

void process_kill(struct process *process)
{
	HARNESS;

	if (!process->running)
		return;
	note("process %d (%s) ends", (int)process->pid, process->name);
	process->running = false;
	process->gone_ns = now_ns() + random_below(GONE_MOST_NS);
	files_close_of(process);
	free_heap(process);
	fiber_start(NULL, "kernel", free_process, process);
	fiber_changed();
	fiber_kill(process);
}

void process_exec(struct process *process, void (*body)(void *), void *arg)
{
	HARNESS;

	note("process %d (%s) is another program", (int)process->pid, process->name);
	fiber_kill(process);
	files_close_of(process);
	driver_process_ended(process);
	free_heap(process);
	memset(process->readings, 0, sizeof(process->readings));
	process->program++;
	if (process->image)
		load(process->image, process);
	fiber_start(process, process->name, body, arg);
	fiber_changed();
}

void process_inherit(struct process *process, int fd)
{
	process->files[fd] = file_hold(file_of(fd));
}

void process_signal(struct process *process, int number)
{
	for (int fd = 0; fd < DESCRIPTORS; fd++)
		if (process->files[fd] && process->files[fd]->kind == SIGNALS) {
			process->files[fd]->count |= UINT64_C(1) << number;
			file_changes(process->files[fd]);
		}
}

/* ---- the log ---- */

#define NOTES 4096
#define NOTE_BYTES 200

static char notes[NOTES][NOTE_BYTES];
static uint64_t note_count;
static char failed[NOTE_BYTES];

void note(const char *format, ...)
{
	HARNESS;
	char *line = notes[note_count++ % NOTES];
	const struct fiber *fiber = fiber_self();
	const struct process *owner = fiber_process();
	va_list list;
	int n = snprintf(line, NOTE_BYTES, "%10.3f ms  %d.%u %-14s  ",
			 (double)(now_ns() % (1000 * SECOND)) / 1e6, owner ? (int)owner->pid : 0,
			 fiber_number(fiber), fiber_name(fiber));

	va_start(list, format);
	vsnprintf(line + n, (size_t)(NOTE_BYTES - n), format, list);
	va_end(list);
}

void fail(const char *format, ...)
{
	HARNESS;
	va_list list;

	if (has_failed())
		return;
	va_start(list, format);
	vsnprintf(failed, sizeof(failed), format, list);
	va_end(list);
	note("FAILED: %s", failed);
	fiber_stop();
}

bool has_failed(void)
{
	return failed[0];
}

const char *failure(void)
{
	return failed;
}

void notes_print(unsigned lines)
{
	uint64_t from = note_count > lines ? note_count - lines : 0;

	if (note_count > NOTES && from < note_count - NOTES)
		from = note_count - NOTES;
	for (; from < note_count; from++)
		fprintf(stderr, "%s\n", notes[from % NOTES]);
}
