// SPDX-License-Identifier: MIT
#include "shim/peers_hold.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "channel/lane.h"
#include "common/clock.h"
#include "common/gaps.h"
#include "shim/activity.h"
#include "shim/config.h"
#include "shim/device.h"
#include "shim/hold.h"
#include "shim/queues.h"
#include "shim/topology.h"

#define CHECK_NS 100000000u /* while held, so that a peer's death is noticed */
#define BUSY_NS 10000000u   /* after a hold that was not possible at the moment */

/* Each try of a hold that fails costs everybody on the node some bounces: the next
 * is after 100 ms, twice that, and so on. */
#define FAILED_MIN_NS 100000000u
#define FAILED_MAX_NS 10000000000u
/* A hold that takes this long, waits for a core left out, is a firmware that hardly preempts. One
 * may be the machine's fault. */
#define SLOW_NS 50000000u
#define SLOW_MAX 2u

#define WEIGHT 2u /* online_weight of kfdschedd(8), by default */
/* The bound (gaps.h) where both calls just pass as quick; one may have waited for a core. */
#define OVER_MAX_NS ((1 + WEIGHT) * SLOW_NS)

static struct {
	bool wished;	   /* hold_set was told to hold */
	bool spared;	   /* never again: it was seen to hurt */
	bool ready;	   /* written under the lock: the first work of ours is to be held */
	int told;	   /* the failure that was said last */
	uint64_t retry_ns; /* before this there is no other try */
	uint64_t wait_ns;  /* after the next failure */
	unsigned slow;	   /* slow ones in a row */
	uint64_t takes_ns; /* what it costs to take the queues off the GPU, */
	uint64_t gives_ns; /* and to give them back; learned */
	bool urgent;	   /* a peer works that this process is to be held for, */
	uint64_t since_ns; /* since then, or not since then; 0: there was none */
	struct gaps gaps;  /* between such work */
} hold;

static enum lane_level level(void)
{
	switch (config.level) {
	case PROTOCOL_LEVEL_GATE:
		return LANE_LEVEL_GATE;
	case PROTOCOL_LEVEL_WEIGHT:
		return LANE_LEVEL_WEIGHT;
	case PROTOCOL_LEVEL_AUTO:
		return topology_saves_waves() ? LANE_LEVEL_SELF : LANE_LEVEL_GATE;
	default:
		return LANE_LEVEL_SELF;
	}
}

static void spare(const char *why)
{
	hold.spared = true;
	say(LOG_ERROR,
	    "this process is not held for a peer again: %s; KFDSHIM_LEVEL=gate asks nothing of it",
	    why);
}

/* The driver resets a GPU whose firmware does not preempt. */
static void failed(int err, uint64_t now_ns)
{
	if (err == -ECANCELED && device_is_kept()) {
		hold.retry_ns = now_ns + BUSY_NS;
		return;
	}
	if (err == -ECANCELED)
		err = -EOPNOTSUPP; /* nothing here can suspend: that does not pass quickly */
	if (err == -EIO || err == -ETIME) {
		spare("the firmware did not preempt it");
		return;
	}
	hold.wait_ns = hold.wait_ns ? 2 * hold.wait_ns : FAILED_MIN_NS;
	if (hold.wait_ns > FAILED_MAX_NS)
		hold.wait_ns = FAILED_MAX_NS;
	hold.retry_ns = now_ns + hold.wait_ns;
	if (hold.told != err)
		say(LOG_ERROR,
		    "cannot be held for a peer (KFDSHIM_LEVEL=%s): %s; it is tried again, at last "
		    "every 10 s",
		    protocol_level_name(config.level), strerror(-err));
	hold.told = err;
}

static void taken(uint64_t took_ns)
{
	gaps_cost_learn(&hold.takes_ns, took_ns);
	hold.wait_ns = 0;
	hold.slow = took_ns > SLOW_NS ? hold.slow + 1 : 0;
	if (hold.slow == SLOW_MAX)
		spare("that took longer than 50 ms twice");
}

/* How long this thread, since it began, could run and had no core: the second number of
 * schedstat (Linux's Documentation/scheduler/sched-stats.rst). 0: the kernel does not say. */
static uint64_t waited_for_core_ns(void)
{
	int fd = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
	char text[64] = "", *at;
	ssize_t n;

	if (fd < 0)
		return 0;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	at = n > 0 ? strchr(text, ' ') : NULL;
	return at ? strtoull(at, NULL, 10) : 0;
}

/* Sets the hold; returns hold_set()'s result and how long it took. Waits are read before the first
 * and after the last look at the clock, so that none of them counts as the hold's own time; those
 * outside of the two looks are subtracted with the others, hence the comparison. */
static int set_timed(bool held, uint64_t *took_ns)
{
	uint64_t waited_ns = waited_for_core_ns(), begin_ns = clock_ns();
	int err = hold_set(HOLD_BY_PEERS, level(), held);

	*took_ns = clock_ns() - begin_ns;
	waited_ns = waited_for_core_ns() - waited_ns;
	*took_ns = *took_ns > waited_ns ? *took_ns - waited_ns : 0;
	return err;
}

/* Doing so once more is to renew it, and costs nothing. */
static void take(uint64_t now_ns)
{
	bool anew = !hold.wished;
	uint64_t took_ns;
	int err = anew ? set_timed(true, &took_ns) : hold_set(HOLD_BY_PEERS, level(), true);

	hold.wished = !err;
	if (err)
		failed(err, now_ns);
	else if (anew)
		taken(took_ns);
}

static void give(void)
{
	uint64_t took_ns;

	if (!hold.wished)
		return;
	hold.wished = false;
	set_timed(false, &took_ns);
	gaps_cost_learn(&hold.gives_ns, took_ns);
}

static void set_ready(bool ready)
{
	agent_lock();
	hold.ready = ready;
	agent_unlock();
}

/* While nothing of ours is in flight, suspending it would cost both a bounce. */
static bool is_at_rest(void)
{
	bool rest;

	agent_lock();
	rest = hold.ready = *queues.active == 0;
	agent_unlock();
	return rest;
}

/* Somebody more urgent works. */
static uint64_t decide_urgent(uint64_t now_ns)
{
	int lost = hold.wished ? hold_lost(HOLD_BY_PEERS) : 0;

	if (lost) {
		hold.wished = false;
		failed(-lost, now_ns);
	}
	if (hold.spared && !hold.wished)
		return UINT64_MAX;
	if (!hold.wished && is_at_rest())
		return UINT64_MAX;
	if (!hold.wished && now_ns < hold.retry_ns)
		return hold.retry_ns;
	take(now_ns);
	if (hold.wished)
		return now_ns + CHECK_NS;
	return hold.spared ? UINT64_MAX : hold.retry_ns;
}

/* As the daemon's (scheduler/core/policy.c). */
static uint64_t hold_over_ns(void)
{
	const struct gaps_costs costs = {
		.resume_ns = hold.gives_ns > hold.takes_ns ? hold.gives_ns : hold.takes_ns,
		.suspend_ns = hold.takes_ns,
		.weight = WEIGHT,
	};
	uint64_t ns = gaps_hold_ns(&hold.gaps, &costs);

	return ns < OVER_MAX_NS ? ns : OVER_MAX_NS;
}

/* No peer is, or not any more. */
static uint64_t decide_quiet(uint64_t now_ns)
{
	uint64_t until_ns = hold.since_ns + hold_over_ns();

	set_ready(false);
	if (!hold.wished)
		return UINT64_MAX;
	if (now_ns < until_ns)
		return until_ns;
	give();
	return UINT64_MAX;
}

void peers_hold_begin(void)
{
	hold.told = 0;
}

static void learn(uint64_t now_ns, bool urgent)
{
	if (urgent == hold.urgent)
		return;
	if (urgent && hold.since_ns) {
		gaps_learn(&hold.gaps, now_ns - hold.since_ns);
		gaps_missed(&hold.gaps, hold.wished, &hold.takes_ns, &hold.gives_ns);
	}
	hold.urgent = urgent;
	hold.since_ns = now_ns;
}

uint64_t peers_hold_step(uint64_t now_ns, bool urgent)
{
	learn(now_ns, urgent);
	return urgent ? decide_urgent(now_ns) : decide_quiet(now_ns);
}

void peers_hold_end(void)
{
	if (hold.ready)
		set_ready(false);
	hold.urgent = false;
	hold.since_ns = 0;
	give();
}

bool peers_hold_stands(void)
{
	return hold.wished;
}

bool peers_hold_awaits_work(void)
{
	return hold.ready;
}

void peers_hold_forget(void)
{
	memset(&hold, 0, sizeof(hold));
}
