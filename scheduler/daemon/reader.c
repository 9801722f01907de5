// SPDX-License-Identifier: MIT
#include "scheduler/daemon/reader.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/wait.h"
#include "scheduler/daemon/log.h"
#include "scheduler/daemon/reader_message.h"
#include "scheduler/daemon/users.h"

#define MS 1000000ull
#define LOOK_MS 1 /* a read takes 0.1 ms */
/* What the processes of one user may cost in ALONE_NS: in waits, and in reads that are long, for
 * example of very many mappings. That is less than the watchdog leaves the loop (watchdog.c). */
#define WAIT_MAX_NS (20 * MS)
#define WORK_MAX_NS (300 * MS)
#define ASK_LOOKS 200u	/* the machine may stand still */
#define DYING_LOOKS 25u /* for a process that has been killed, and its successor */
#define ALONE_NS (10000 * MS)
#define ALONE 64u

/* What the reads of a user's processes, or of one process of a trusted user, have cost since. */
struct alone {
	uid_t owner;
	pid_t pid; /* 0: all of the user's */
	uint64_t since_ns, waited_ns, worked_ns;
	bool left_alone; /* until ALONE_NS after since_ns */
};

/* One request. */
struct asked {
	unsigned looks;
	uint64_t cpu_ns;
	pid_t reader;	     /* of which cpu_ns is */
	struct alone *costs; /* NULL: nothing so far */
};

static struct {
	int socket, wake_fd;
	struct reader_state *state;
	const struct owners *owners;
	uint64_t number;
	unsigned turn_looks; /* at all requests of this turn of the loop */
	struct alone alone[ALONE];
} reader = {.socket = -1};

void reader_use(int socket, struct reader_state *state, int wake_fd, const struct owners *owners)
{
	reader.socket = socket;
	reader.state = state;
	reader.wake_fd = wake_fd;
	reader.owners = owners;
	memset(reader.alone, 0, sizeof(reader.alone));
	reader.number = clock_ns(); /* another worker's answers may be on their way */
}

void reader_turn(void)
{
	reader.turn_looks = 0;
}

static bool is_over(const struct alone *alone, uint64_t now)
{
	return now >= alone->since_ns + ALONE_NS;
}

static struct alone entry_of(pid_t pid, uint64_t now)
{
	uid_t uid = peer_uid(pid);
	bool trusted = users_is_trusted(uid);

	return (struct alone){.owner = owners_find(reader.owners, uid),
			      .pid = trusted ? pid : 0,
			      .since_ns = now};
}

/* NULL: there is none. */
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

/* A new one takes the place of the oldest. */
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
	log_info("process %d of user %u keeps reads of its files in /proc waiting, as in an exec "
		 "that does not end: %s left alone for %llu s",
		 (int)pid, its->owner, its->pid ? "it is" : "the user's processes are",
		 ALONE_NS / 1000 / MS);
}

/* The watchdog kills it and starts another. */
static void have_killed(pid_t process)
{
	uint64_t one = 1;

	__atomic_store_n(&reader.state->stuck, process, __ATOMIC_RELEASE);
	(void)!write(reader.wake_fd, &one, sizeof(one));
}

static bool receive(uint64_t number, struct reader_answer *answer)
{
	while (recv(reader.socket, answer, sizeof(*answer), MSG_DONTWAIT) ==
	       (ssize_t)sizeof(*answer))
		if (answer->number == number)
			return true;
	return false;
}

static uint64_t cpu_of(pid_t process)
{
	clockid_t clock;

	return clock_getcpuclockid(process, &clock) == 0 ? clock_of(clock) : 0;
}

/* What this look costs the user. The time since the last look is no measure, because the loop
 * itself may have had no core: a look at a reader that waits counts LOOK_MS, one at a reader that
 * runs counts what it has computed. */
static void charge(struct asked *asked, pid_t process, char state, pid_t pid)
{
	uint64_t cpu = cpu_of(process);

	if (!asked->costs)
		asked->costs = find_or_add(pid, clock_ns());
	if (state != 'D' && state != 'S')
		/* No processor time of it is known while it ends. */
		asked->costs->worked_ns +=
			asked->reader == process && cpu > asked->cpu_ns ? cpu - asked->cpu_ns : 0;
	else
		asked->costs->waited_ns += LOOK_MS * MS;
	asked->reader = process;
	asked->cpu_ns = cpu;
}

static bool is_too_much(const struct alone *costs)
{
	return costs->waited_ns >= WAIT_MAX_NS || costs->worked_ns >= WORK_MAX_NS;
}

/* There was no answer before the reader, `process`, was in this state. false: there will be
 * none. */
static bool look(struct asked *asked, pid_t process, char state, pid_t pid)
{
	asked->looks++;
	if (process < 0 || ++reader.turn_looks >= ASK_LOOKS)
		return false;
	if (process == 0)
		return asked->looks < ASK_LOOKS;
	/* A dying one waits for another process than `pid`. */
	if (process == __atomic_load_n(&reader.state->stuck, __ATOMIC_ACQUIRE))
		return asked->looks < DYING_LOOKS;
	charge(asked, process, state, pid);
	if (is_too_much(asked->costs)) {
		leave_alone(asked->costs, pid, clock_ns());
		have_killed(process);
		return false;
	}
	if (state == 'T' || state == 't')
		have_killed(process);
	return asked->looks < ASK_LOOKS;
}

static bool wait_for(uint64_t number, pid_t pid, struct reader_answer *answer)
{
	struct asked asked = {0};
	pid_t process;
	char state;

	do {
		if (poll_one_ns(reader.socket, POLLIN, wait_end_ms(LOOK_MS)) > 0 &&
		    receive(number, answer))
			return true;
		process = __atomic_load_n(&reader.state->pid, __ATOMIC_ACQUIRE);
		state = process > 0 ? peer_state(process) : '\0';
		/* One that has answered sleeps, too. */
		if (receive(number, answer))
			return true;
	} while (look(&asked, process, state, pid));
	return false;
}

/* true: there is an answer. */
static bool ask(struct reader_request *request, struct reader_answer *answer)
{
	if (reader.turn_looks >= ASK_LOOKS || is_alone(request->pid, clock_ns()) ||
	    __atomic_load_n(&reader.state->pid, __ATOMIC_ACQUIRE) < 0)
		return false;
	request->number = ++reader.number;
	if (send(reader.socket, request, sizeof(*request), MSG_DONTWAIT | MSG_NOSIGNAL) < 0 ||
	    !wait_for(request->number, request->pid, answer))
		return false;
	answer->problem[sizeof(answer->problem) - 1] = '\0';
	return true;
}

static int ask_for(enum reader_what what, pid_t pid, pid_t other, struct reader_answer *answer)
{
	struct reader_request request = {.what = what, .pid = pid, .other = other};

	return ask(&request, answer) ? answer->result : -EAGAIN;
}

int reader_facts(pid_t pid, struct peer_facts *out)
{
	struct reader_answer answer;
	int error = ask_for(READER_FACTS, pid, 0, &answer);

	*out = error == -EAGAIN ? (struct peer_facts){0} : answer.facts;
	return error;
}

int reader_subject(pid_t pid, struct subject *out)
{
	struct reader_answer answer;
	int error = ask_for(READER_SUBJECT, pid, 0, &answer);

	*out = error == -EAGAIN ? (struct subject){.pid = pid, .uid = (uid_t)-1} : answer.subject;
	return error;
}

pid_t reader_number(pid_t of, pid_t pid)
{
	struct reader_answer answer;

	return ask_for(READER_NUMBER, of, pid, &answer);
}

int reader_target(pid_t pid, struct peer_facts *out, char *problem, size_t size)
{
	struct reader_answer answer = {0};
	int error = ask_for(READER_TARGET, pid, 0, &answer);

	*out = answer.facts;
	if (error == -EAGAIN)
		snprintf(problem, size, "process %d cannot be read now: try again in %llu s",
			 (int)pid, ALONE_NS / 1000 / MS);
	else
		snprintf(problem, size, "%s", answer.problem);
	return error;
}

static bool is_so(enum reader_what what, pid_t pid)
{
	struct reader_answer answer;

	return ask_for(what, pid, 0, &answer) > 0;
}

bool reader_has_shim(pid_t pid)
{
	return is_so(READER_HAS_SHIM, pid);
}

bool reader_destroys(pid_t pid)
{
	return is_so(READER_DESTROYS, pid);
}

bool reader_right_has_come(pid_t pid)
{
	return is_so(READER_RIGHT_HAS_COME, pid);
}
