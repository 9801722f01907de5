// SPDX-License-Identifier: MIT
#include "shim/links/peer_policy.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "channel/client_shm.h"
#include "common/clock.h"
#include "common/gaps.h"
#include "shim/activity.h"
#include "shim/config.h"
#include "shim/hold.h"
#include "shim/queue_table.h"
#include "shim/self_session.h"
#include "shim/topology.h"

#define CHECK_NS 100000000u /* period of checks whether the peer that caused the hold is alive */
#define BUSY_NS 10000000u   /* delay before the next attempt if a hold is not possible now */

/* Each failed attempt to hold costs every process on the node some runlist updates ("bounces"). The
 * next attempt is after 100 ms, then after twice that time, and so on up to 10 s. */
#define FAILED_MIN_NS 100000000u
#define FAILED_MAX_NS 10000000000u
/* If the call that holds the process takes longer than this, without the time spent waiting for a
 * core, the firmware probably hardly preempts. One slow call may have another cause, so SLOW_MAX
 * slow calls in a row are needed. */
#define SLOW_NS 50000000u
#define SLOW_MAX 2u

#define WEIGHT 2u /* default of online_weight in kfdschedd(8) */
/* Upper limit of the hold-over (time on hold after the more urgent work has ended). It is the bound
 * of gaps_hold_ns() for calls of SLOW_NS, the longest that do not count as slow. Needed because
 * measured times may be longer, if a call has waited for a core. */
#define OVER_MAX_NS ((1 + WEIGHT) * SLOW_NS)

static struct {
	bool wished; /* hold_set() has granted the hold request of this module */
	bool exempt; /* holding this process has done harm, so it is never held again */
	/* The process is idle, and its next work is to be held, so this work has to wake the
	 * sampler. Written under the agent's lock. */
	bool ready;
	int logged_error;  /* last failure that was logged, negative errno */
	uint64_t retry_ns; /* earliest time of the next try */
	uint64_t wait_ns;  /* delay after the last failure; 0: a hold has succeeded since */
	unsigned slow;	   /* slow holds in a row */
	uint64_t takes_ns; /* learned duration of a hold call; gaps_cost_learn() */
	uint64_t gives_ns; /* learned duration of a release call */
	bool urgent;	   /* a peer has more urgent work */
	/* When `urgent` last changed; 0: never. */
	uint64_t since_ns;
	struct gaps gaps; /* gaps between spans of more urgent work */
} hold;

/* Returns the level by which this process holds itself for a peer. */
static enum client_shm_level level(void)
{
	switch (config.level) {
	case PROTOCOL_LEVEL_GATE:
		return CLIENT_SHM_LEVEL_GATE;
	case PROTOCOL_LEVEL_WEIGHT:
		return CLIENT_SHM_LEVEL_WEIGHT;
	case PROTOCOL_LEVEL_AUTO:
		return topology_saves_waves() ? CLIENT_SHM_LEVEL_SELF : CLIENT_SHM_LEVEL_GATE;
	default:
		return CLIENT_SHM_LEVEL_SELF;
	}
}

static void spare(const char *why)
{
	hold.exempt = true;
	kfdshim_log(
		LOG_ERROR,
		"this process is not held for a peer again: %s; KFDSHIM_LEVEL=gate does not need that",
		why);
}

/* Decides when to try again a hold that has failed with @err. After -EIO or -ETIME there is no
 * further attempt, because the driver resets a GPU whose firmware does not preempt. */
static void failed(int err, uint64_t now_ns)
{
	if (err == -ECANCELED && device_is_open()) {
		hold.retry_ns = now_ns + BUSY_NS;
		return;
	}
	if (err == -ECANCELED)
		/* The agent has no open device, and may not get one for a long time, so this
		 * attempt counts as failed. */
		err = -EOPNOTSUPP;
	if (err == -EIO || err == -ETIME) {
		spare("the firmware did not preempt its queues");
		return;
	}
	hold.wait_ns = hold.wait_ns ? 2 * hold.wait_ns : FAILED_MIN_NS;
	if (hold.wait_ns > FAILED_MAX_NS)
		hold.wait_ns = FAILED_MAX_NS;
	hold.retry_ns = now_ns + hold.wait_ns;
	if (hold.logged_error != err)
		kfdshim_log(
			LOG_ERROR,
			"this process cannot be held for a peer (KFDSHIM_LEVEL=%s): %s; retrying, at "
			"least every 10 s",
			protocol_level_name(config.level), strerror(-err));
	hold.logged_error = err;
}

static void taken(uint64_t took_ns)
{
	gaps_cost_learn(&hold.takes_ns, took_ns);
	hold.wait_ns = 0;
	hold.slow = took_ns > SLOW_NS ? hold.slow + 1 : 0;
	if (hold.slow == SLOW_MAX)
		spare("two suspends took longer than 50 ms");
}

/* Returns how long this thread has waited for a core since it began, in ns, or 0 if unknown: the
 * second number of schedstat (Linux's Documentation/scheduler/sched-stats.rst). */
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

/* Holds the process or releases it, and returns hold_set()'s result. Sets *took_ns to the duration
 * of the call in ns, without the time spent waiting for a core. That time is read before the first
 * and after the last reading of the clock, so all waits during the call are subtracted. Waits just
 * outside of them are subtracted, too, so the difference could be negative. */
static int set_timed(bool held, uint64_t *took_ns)
{
	uint64_t waited_ns = waited_for_core_ns(), begin_ns = clock_ns();
	int err = hold_set(HOLD_BY_PEERS, level(), held);

	*took_ns = clock_ns() - begin_ns;
	waited_ns = waited_for_core_ns() - waited_ns;
	*took_ns = *took_ns > waited_ns ? *took_ns - waited_ns : 0;
	return err;
}

/* Holds the process, or, if it is held already, renews the hold (hold.h), which costs nothing. */
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

/* Releases the process if it is held, and learns how long the release takes. */
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

/* Returns true if the process has no work in flight; to suspend it would then cost a runlist update
 * ("bounce") and gain nothing. Sets `ready` in this case, so that the next work of the process
 * wakes the sampler. */
static bool is_at_rest(void)
{
	bool rest;

	agent_lock();
	rest = hold.ready = *queues.active == 0;
	agent_unlock();
	return rest;
}

/* Holds this process for a peer with more urgent work, if this process has work in flight. Returns
 * the time of the next call. */
static uint64_t decide_urgent(uint64_t now_ns)
{
	int lost = hold.wished ? hold_lost(HOLD_BY_PEERS) : 0;

	if (lost) {
		hold.wished = false;
		failed(-lost, now_ns);
	}
	if (hold.exempt && !hold.wished)
		return UINT64_MAX;
	if (!hold.wished && is_at_rest())
		return UINT64_MAX;
	if (!hold.wished && now_ns < hold.retry_ns)
		return hold.retry_ns;
	take(now_ns);
	if (hold.wished)
		return now_ns + CHECK_NS;
	return hold.exempt ? UINT64_MAX : hold.retry_ns;
}

/* Returns for how long the process stays on hold after the more urgent work has ended, in ns.
 * Calculated as in the daemon (scheduler/core/policy.c). */
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

/* Called while no peer has more urgent work: releases this process when the hold-over has passed.
 * Returns the time of the next call. */
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
	hold.logged_error = 0;
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
