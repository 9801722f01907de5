// SPDX-License-Identifier: MIT
#include "scheduler/daemon/clients/scan_ratelimit.h"

#include <sys/epoll.h>

#include "scheduler/daemon/clients/client.h"
#include "scheduler/daemon/log.h"
#include "scheduler/daemon/worker.h"

#define LATE_NS 200000u

static const struct ratelimit_rule client_rule = {.burst = 100, .period_ns = LATE_NS};
static const struct ratelimit_rule user_rule = {.burst = 6000, .period_ns = 16667};

/* Charges one scan to the budgets of the client and of its user. Returns false if one of them
 * has nothing left. */
static bool take(struct worker *worker, struct client *client, uint64_t now)
{
	struct user *user = admission_user(worker, client->uid);

	if (ratelimit_next(&client->scan_limit.limit, &client_rule, now) > now ||
	    !ratelimit_take(&user->scans, &user_rule, now))
		return false;
	worker->totals.scans++;
	return ratelimit_take(&client->scan_limit.limit, &client_rule, now);
}

/* The eventfd is watched edge-triggered and never read. epoll reports writes that happened while
 * it was not watched as soon as it is watched again. */
static void watch(struct worker *worker, struct client *client, bool wake)
{
	struct epoll_event event = {
		.events = wake ? EPOLLIN | EPOLLET : 0,
		.data.u64 = worker_event_data(WORKER_WAKE, client->serial, client->slot)};

	if (client->wake_fd >= 0)
		epoll_ctl(worker->epoll, EPOLL_CTL_MOD, client->wake_fd, &event);
}

static void put_off(struct worker *worker, struct client *client, uint64_t now)
{
	struct scan_limits *scans = &worker->scans;

	client->scan_limit.put_off++;
	if (client->scan_limit.late)
		return;
	client->scan_limit.late = true;
	watch(worker, client, false);
	if (scans->late_count == 0)
		scans->next_ns = now + LATE_NS;
	/* each client is in the list once */
	scans->late[scans->late_count++] = (uint16_t)client->slot;
	if (client->scan_limit.named ||
	    ratelimit_next(&client->scan_limit.limit, &client_rule, now) <= now)
		return;
	client->scan_limit.named = true;
	log_client(&client->log,
		   "process %d (%s): more than %u shared-memory updates per second; further "
		   "updates are coalesced",
		   (int)client->peer.pid, client->name,
		   (unsigned)(1000000000u / client_rule.period_ns));
}

bool scan_woken(struct worker *worker, struct client *client, uint64_t now)
{
	if (!client->scan_limit.late && take(worker, client, now))
		return client_scan(worker, client, now);
	put_off(worker, client, now);
	return false;
}

bool scan_unwoken(struct worker *worker, struct client *client, uint64_t now)
{
	if (client->scan_limit.late || !client_scan(worker, client, now))
		return false;
	/* If the budget is exhausted, the next scan is deferred. */
	if (!take(worker, client, now))
		put_off(worker, client, now);
	return true;
}

void scan_late(struct worker *worker, uint64_t now)
{
	struct scan_limits *scans = &worker->scans;
	struct client *client;

	if (!scans->late_count || now < scans->next_ns)
		return;
	scans->next_ns = now + LATE_NS;
	/* From the end, because the last element replaces the one that is removed. */
	for (uint32_t i = scans->late_count; i-- > 0;) {
		client = worker->clients[scans->late[i]];
		if (!take(worker, client, now))
			continue;
		client->scan_limit.late = false;
		scans->late[i] = scans->late[--scans->late_count];
		watch(worker, client, true);
		client_scan(worker, client, now);
	}
}

void scan_limit_forget(struct worker *worker, struct client *client)
{
	struct scan_limits *scans = &worker->scans;

	for (uint32_t i = 0; client->scan_limit.late && i < scans->late_count; i++)
		if (scans->late[i] == client->slot) {
			client->scan_limit.late = false;
			scans->late[i] = scans->late[--scans->late_count];
		}
}

uint64_t scan_next_ns(const struct worker *worker)
{
	return worker->scans.late_count ? worker->scans.next_ns : UINT64_MAX;
}
