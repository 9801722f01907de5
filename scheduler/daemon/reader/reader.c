// SPDX-License-Identifier: MIT
#include "scheduler/daemon/reader/reader.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "common/clock.h"
#include "scheduler/daemon/admission/admission.h"
#include "scheduler/daemon/log.h"

#define MS 1000000ull
#define CHECK_NS MS /* time between two checks of a request; a read takes 0.1 ms */
/* Limits of what reads of one user's processes may cost within ALONE_NS: waits, and CPU time of
 * long reads, for example of very many mappings. */
#define WAIT_MAX_NS (20 * MS)
#define WORK_MAX_NS (300 * MS)
/* maximum number of checks of a request; large, as the machine may stand still for a while */
#define QUERY_POLLS 1000u
#define ALONE_NS (10000 * MS)
#define ALONE 64u
#define ASKERS 64u /* hash lists of entries, by asker */

/* Costs of the reads of a user's processes, or of one process of a trusted user. */
struct alone {
	uid_t owner;
	pid_t pid; /* 0: all processes of the user */
	uint64_t since_ns, waited_ns, worked_ns;
	bool left_alone; /* not read until ALONE_NS after since_ns */
};

/* A request of an asker (the code that waits for the answer), and its answer. It is kept until the
 * asker needs no further answer. */
struct reader_entry {
	LIST_ENTRY(reader_entry) same; /* entries in the same hash list */
	STAILQ_ENTRY(reader_entry) later;
	uint64_t asker;
	struct reader_request request;
	struct reader_reply *reply; /* NULL: it has not arrived */
	int error;		    /* negative errno: there will be no answer; 0: none yet */
	/* queued: waits to be sent; fresh: answered, and reader_replied() has not returned its
	 * asker yet */
	bool queued, fresh;
};

/* The request that was sent to kfdschedd-read and is not answered yet. */
struct flight {
	struct reader_entry *entry;    /* NULL: its asker has dropped it */
	struct reader_request request; /* number 0: there is no request */
	pid_t process; /* pid of kfdschedd-read when it was sent; 0: no process was running then */
	unsigned checks;
	uint64_t check_ns; /* time of the next check */
	uint64_t cpu_ns;
	pid_t reader;	     /* the pid to which cpu_ns belongs */
	struct alone *costs; /* NULL: no costs so far */
};

static struct {
	int socket, wake_fd;
	struct reader_state *state;
	const struct owners *owners;
	uint64_t number;
	struct flight flight;
	uint64_t asker; /* asker whose code runs; 0: none */
	bool waits;
	LIST_HEAD(, reader_entry) entries[ASKERS];
	/* queue: entries that wait to be sent; replied: entries with `fresh` set */
	STAILQ_HEAD(, reader_entry) queue, replied;
	struct alone alone[ALONE];
} reader = {.socket = -1};

static void entry_free(struct reader_entry *entry)
{
	LIST_REMOVE(entry, same);
	if (entry->queued)
		STAILQ_REMOVE(&reader.queue, entry, reader_entry, later);
	if (entry->fresh)
		STAILQ_REMOVE(&reader.replied, entry, reader_entry, later);
	if (reader.flight.entry == entry)
		reader.flight.entry = NULL;
	free(entry->reply);
	free(entry);
}

void reader_forget(uint64_t asker)
{
	struct reader_entry *entry = LIST_FIRST(&reader.entries[asker % ASKERS]), *next;

	for (; entry; entry = next) {
		next = LIST_NEXT(entry, same);
		if (entry->asker == asker)
			entry_free(entry);
	}
}

void reader_use(int socket, struct reader_state *state, int wake_fd, const struct owners *owners)
{
	reader.socket = socket;
	reader.state = state;
	reader.wake_fd = wake_fd;
	reader.owners = owners;
	for (unsigned i = 0; i < ASKERS; i++)
		while (!LIST_EMPTY(&reader.entries[i]))
			entry_free(LIST_FIRST(&reader.entries[i]));
	STAILQ_INIT(&reader.queue);
	STAILQ_INIT(&reader.replied);
	reader.flight = (struct flight){0};
	memset(reader.alone, 0, sizeof(reader.alone));
	/* The first number is the present time, so that no answer to an earlier worker has the
	 * number of a request of this one. */
	reader.number = clock_ns();
}

void reader_begin(uint64_t asker)
{
	reader.asker = asker;
	reader.waits = false;
}

bool reader_waits(void)
{
	return reader.waits;
}

bool reader_end(void)
{
	if (!reader.waits)
		reader_forget(reader.asker);
	reader.asker = 0;
	return reader.waits;
}

uint64_t reader_replied(void)
{
	struct reader_entry *entry = STAILQ_FIRST(&reader.replied);

	if (!entry)
		return 0;
	STAILQ_REMOVE_HEAD(&reader.replied, later);
	entry->fresh = false;
	return entry->asker;
}

static bool is_over(const struct alone *alone, uint64_t now)
{
	return now >= alone->since_ns + ALONE_NS;
}

/* Returns a new entry for the costs of reading process `pid`. The entry is for all processes of its
 * user or, if that user is trusted, for this process only. */
static struct alone entry_of(pid_t pid, uint64_t now)
{
	uid_t uid = peer_uid(pid);
	bool trusted = users_is_trusted(uid);

	return (struct alone){.owner = owners_find(reader.owners, uid),
			      .pid = trusted ? pid : 0,
			      .since_ns = now};
}

/* Returns the entry for the same user or process as *its whose ALONE_NS are not over yet, or
 * NULL. */
static struct alone *find(const struct alone *its)
{
	for (uint32_t i = 0; i < ALONE; i++) {
		struct alone *alone = &reader.alone[i];

		if (alone->since_ns && !is_over(alone, its->since_ns) &&
		    alone->owner == its->owner && alone->pid == its->pid)
			return alone;
	}
	return NULL;
}

/* Returns the entry for the costs of reading `pid`. A new entry replaces the oldest. */
static struct alone *find_or_add(pid_t pid, uint64_t now)
{
	struct alone its = entry_of(pid, now), *found = find(&its);

	if (found)
		return found;
	found = &reader.alone[0];
	for (uint32_t i = 1; i < ALONE; i++)
		if (reader.alone[i].since_ns < found->since_ns)
			found = &reader.alone[i];
	*found = its;
	return found;
}

static bool is_alone(pid_t pid, uint64_t now)
{
	const struct alone *found;
	struct alone its;
	bool any = false;

	for (uint32_t i = 0; i < ALONE; i++)
		any |= reader.alone[i].left_alone && !is_over(&reader.alone[i], now);
	if (!any)
		return false;
	its = entry_of(pid, now);
	found = find(&its);
	return found && found->left_alone;
}

static void leave_alone(struct alone *its, pid_t pid, uint64_t now)
{
	its->left_alone = true;
	its->since_ns = now;
	log_info("process %d of user %u: reads of its files in /proc block, as in an exec that "
		 "does not complete; %s not read for %llu s",
		 (int)pid, its->owner, its->pid ? "it is" : "the user's processes are",
		 ALONE_NS / 1000 / MS);
}

/* Requests from the watchdog to kill kfdschedd-read and to start it again. */
static void have_killed(pid_t process)
{
	uint64_t one = 1;

	__atomic_store_n(&reader.state->stuck, process, __ATOMIC_RELEASE);
	(void)!write(reader.wake_fd, &one, sizeof(one));
}

static uint64_t cpu_of(pid_t process)
{
	clockid_t clock;

	return clock_getcpuclockid(process, &clock) == 0 ? clock_of(clock) : 0;
}

/* Adds the cost of the request since the last check to the costs of its user. The time that has
 * passed is not used, because the loop itself may have had no CPU. If kfdschedd-read waits, the
 * check counts CHECK_NS; if it runs, the check counts its CPU time since then. */
static void charge(struct flight *flight, pid_t process, char state)
{
	uint64_t cpu = cpu_of(process);

	if (!flight->costs)
		flight->costs = find_or_add(flight->request.pid, clock_ns());
	if (state != 'D' && state != 'S')
		/* While kfdschedd-read is ending, its CPU time is not known. */
		flight->costs->worked_ns += flight->reader == process && cpu > flight->cpu_ns
						    ? cpu - flight->cpu_ns
						    : 0;
	else
		flight->costs->waited_ns += CHECK_NS;
	flight->reader = process;
	flight->cpu_ns = cpu;
}

static bool is_too_much(const struct alone *costs)
{
	return costs->waited_ns >= WAIT_MAX_NS || costs->worked_ns >= WORK_MAX_NS;
}

/* ---- request in flight ---- */

static void replied(struct reader_entry *entry, const struct reader_reply *reply, int error)
{
	entry->reply = reply ? malloc(sizeof(*reply)) : NULL;
	if (entry->reply) {
		*entry->reply = *reply;
		entry->reply->problem[sizeof(reply->problem) - 1] = '\0';
	} else {
		entry->error = error;
	}
	entry->fresh = true;
	STAILQ_INSERT_TAIL(&reader.replied, entry, later);
}

/* Ends the request in flight with its answer `reply`; NULL: there will be no answer. */
static void land(const struct reader_reply *reply)
{
	struct reader_entry *entry = reader.flight.entry;

	reader.flight = (struct flight){0};
	if (entry)
		replied(entry, reply, -EAGAIN);
}

void reader_receive(void)
{
	struct reader_reply reply;

	while (recv(reader.socket, &reply, sizeof(reply), MSG_DONTWAIT) == (ssize_t)sizeof(reply))
		if (reply.number == reader.flight.request.number && reply.number)
			land(&reply);
}

static pid_t process_now(void)
{
	return __atomic_load_n(&reader.state->pid, __ATOMIC_ACQUIRE);
}

/* Sends the request in flight to kfdschedd-read; if that does not run yet, the socket keeps the
 * request. Returns false if kfdschedd-read will not run soon. */
static bool send_flight(pid_t process)
{
	reader.flight.process = process;
	return process >= 0 && send(reader.socket, &reader.flight.request,
				    sizeof(reader.flight.request), MSG_DONTWAIT | MSG_NOSIGNAL) > 0;
}

/* Checks on the request in flight, which has no answer yet. `process` is the pid of kfdschedd-read,
 * `state` its state in /proc. Returns false if there will be no answer. */
static bool check(struct flight *flight, pid_t process, char state)
{
	if (++flight->checks >= QUERY_POLLS || process < 0)
		return false;
	/* If kfdschedd-read is being killed, this request is not the reason for its wait. */
	if (process == 0 || process == __atomic_load_n(&reader.state->stuck, __ATOMIC_ACQUIRE))
		return true;
	if (process != flight->process)
		return send_flight(process);
	charge(flight, process, state);
	if (is_too_much(flight->costs)) {
		leave_alone(flight->costs, flight->request.pid, clock_ns());
		have_killed(process);
		return false;
	}
	if (state == 'T' || state == 't')
		have_killed(process);
	return true;
}

static void check_flight(uint64_t now)
{
	struct flight *flight = &reader.flight;
	pid_t process = process_now();
	char state = process > 0 ? peer_state(process) : '\0';

	reader_receive(); /* first take an answer: kfdschedd-read sleeps after an answer, too */
	if (!flight->request.number)
		return;
	flight->check_ns = now + CHECK_NS;
	if (!check(flight, process, state))
		land(NULL);
}

static void send_next(uint64_t now)
{
	struct reader_entry *entry = STAILQ_FIRST(&reader.queue);

	STAILQ_REMOVE_HEAD(&reader.queue, later);
	entry->queued = false;
	entry->request.number = ++reader.number;
	reader.flight = (struct flight){
		.entry = entry, .request = entry->request, .check_ns = now + CHECK_NS};
	if (is_alone(entry->request.pid, now) || !send_flight(process_now()))
		land(NULL);
}

void reader_step(uint64_t now)
{
	/* only if an answer is awaited, to save a system call in each loop iteration */
	if (reader.flight.request.number)
		reader_receive();
	if (reader.flight.request.number && now >= reader.flight.check_ns)
		check_flight(now);
	while (!reader.flight.request.number && !STAILQ_EMPTY(&reader.queue))
		send_next(now);
}

uint64_t reader_next(void)
{
	if (!STAILQ_EMPTY(&reader.replied))
		return 0;
	return reader.flight.request.number ? reader.flight.check_ns : UINT64_MAX;
}

/* ---- requests ---- */

static struct reader_entry *entry_for(const struct reader_request *request)
{
	struct reader_entry *entry;

	LIST_FOREACH(entry, &reader.entries[reader.asker % ASKERS], same)
	if (entry->asker == reader.asker && entry->request.what == request->what &&
	    entry->request.pid == request->pid && entry->request.other == request->other)
		return entry;
	entry = calloc(1, sizeof(*entry));
	if (!entry)
		return NULL;
	entry->asker = reader.asker;
	entry->request = *request;
	entry->queued = true;
	LIST_INSERT_HEAD(&reader.entries[reader.asker % ASKERS], entry, same);
	STAILQ_INSERT_TAIL(&reader.queue, entry, later);
	return entry;
}

/* Returns the result of a request, and its answer in *reply. If there is no answer yet, queues the
 * request and returns -EINPROGRESS. If there will be none, returns -EAGAIN. In both cases *reply is
 * NULL. */
static int query(enum reader_what what, pid_t pid, pid_t other, const struct reader_reply **reply)
{
	const struct reader_request request = {.what = what, .pid = pid, .other = other};
	struct reader_entry *entry = reader.asker ? entry_for(&request) : NULL;

	*reply = entry ? entry->reply : NULL;
	if (*reply)
		return (*reply)->result;
	if (!entry || entry->error)
		return entry ? entry->error : -EAGAIN;
	reader.waits = true;
	return -EINPROGRESS;
}

int reader_facts(pid_t pid, struct peer_facts *out)
{
	const struct reader_reply *reply;
	int error = query(READER_FACTS, pid, 0, &reply);

	*out = reply ? reply->facts : (struct peer_facts){0};
	return error;
}

int reader_subject(pid_t pid, struct proc_attrs *out)
{
	const struct reader_reply *reply;
	int error = query(READER_SUBJECT, pid, 0, &reply);

	*out = reply ? reply->subject : (struct proc_attrs){.pid = pid, .uid = (uid_t)-1};
	return error;
}

pid_t reader_number(pid_t of, pid_t pid)
{
	const struct reader_reply *reply;

	return query(READER_NUMBER, of, pid, &reply);
}

int reader_target(pid_t pid, struct peer_facts *out, char *problem, size_t size)
{
	const struct reader_reply *reply;
	int error = query(READER_TARGET, pid, 0, &reply);

	*out = reply ? reply->facts : (struct peer_facts){0};
	if (reply)
		snprintf(problem, size, "%s", reply->problem);
	else
		snprintf(problem, size,
			 "process %d: its files in /proc cannot be read now; try again in %llu s",
			 (int)pid, ALONE_NS / 1000 / MS);
	return error;
}

int reader_has_shim(pid_t pid)
{
	const struct reader_reply *reply;

	return query(READER_HAS_SHIM, pid, 0, &reply);
}

int reader_destroys(pid_t pid, uint64_t *took_ns)
{
	const struct reader_reply *reply;
	int result = query(READER_DESTROYS, pid, 0, &reply);

	*took_ns = reply ? reply->took_ns : 0;
	return result;
}

int reader_right_has_come(pid_t pid)
{
	const struct reader_reply *reply;

	return query(READER_RIGHT_HAS_COME, pid, 0, &reply);
}
