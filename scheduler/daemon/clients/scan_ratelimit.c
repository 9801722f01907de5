// SPDX-License-Identifier: MIT
#include "scheduler/daemon/clients/scan_ratelimit.h"

#include <sys/epoll.h>

#include "scheduler/daemon/clients/client.h"
#include "scheduler/daemon/log.h"
#include "scheduler/daemon/worker.h"

#define LATE_NS 200000u

static const struct budget_rule client_rule = {.burst = 100, .period_ns = LATE_NS};
static const struct budget_rule user_rule = {.burst = 6000, .period_ns = 16667};

/* Charges one scan to the budgets of the client and of its user. Returns false if one of them
 * has nothing left. */
static bool take(struct worker *worker, struct client *client, uint64_t now)
{
	struct user *user = door_user(worker, client->uid);

	if (budget_next(&client->look.budget, &client_rule, now) > now ||
	    !budget_take(&user->looks, &user_rule, now))
		return false;
	worker->totals.looks++;
	return budget_take(&client->look.budget, &client_rule, now);
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
	struct looks *looks = &worker->looks;

	client->look.put_off++;
	if (client->look.late)
		return;
	client->look.late = true;
	watch(worker, client, false);
	if (looks->late_count == 0)
		looks->next_ns = now + LATE_NS;
	/* each client is in the list once */
	looks->late[looks->late_count++] = (uint16_t)client->slot;
	if (client->look.named || budget_next(&client->look.budget, &client_rule, now) <= now)
		return;
	client->look.named = true;
	log_client(&client->log,
		   "process %d (%s): more than %u shared-memory updates per second; further "
		   "updates are coalesced",
		   (int)client->peer.pid, client->name,
		   (unsigned)(1000000000u / client_rule.period_ns));
}

bool look_woken(struct worker *worker, struct client *client, uint64_t now)
{
	if (!client->look.late && take(worker, client, now))
		return client_scan(worker, client, now);
	put_off(worker, client, now);
	return false;
}

bool look_unasked(struct worker *worker, struct client *client, uint64_t now)
{
	if (client->look.late || !client_scan(worker, client, now))
		return false;
	/* If the budget is exhausted, the next scan is deferred. */
	if (!take(worker, client, now))
		put_off(worker, client, now);
	return true;
}

void look_late(struct worker *worker, uint64_t now)
{
	struct looks *looks = &worker->looks;
	struct client *client;

	if (!looks->late_count || now < looks->next_ns)
		return;
	looks->next_ns = now + LATE_NS;
	/* From the end, because the last element replaces the one that is removed. */
	for (uint32_t i = looks->late_count; i-- > 0;) {
		client = worker->clients[looks->late[i]];
		if (!take(worker, client, now))
			continue;
		client->look.late = false;
		looks->late[i] = looks->late[--looks->late_count];
		watch(worker, client, true);
		client_scan(worker, client, now);
	}
}

void look_forget(struct worker *worker, struct client *client)
{
	struct looks *looks = &worker->looks;

	for (uint32_t i = 0; client->look.late && i < looks->late_count; i++)
		if (looks->late[i] == client->slot) {
			client->look.late = false;
			looks->late[i] = looks->late[--looks->late_count];
		}
}

uint64_t look_next(const struct worker *worker)
{
	return worker->looks.late_count ? worker->looks.next_ns : UINT64_MAX;
}
