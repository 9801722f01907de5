// SPDX-License-Identifier: MIT
#include "cli/record/gpu_users.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cli/inspect/gpu_processes.h"
#include "cli/inspect/process.h"
#include "cli/inspect/sources.h"
#include "cli/record/analysis.h"
#include "cli/record/recording.h"
#include "cli/util/daemon_query.h"
#include "common/text.h"

#define USERS 1024

/* ---- now ---- */

/* Returns the role of the process in the daemon's status; JSON null: the daemon does not know the
 * process. `otherwise`: result of source_daemon_counts_otherwise(). */
static json_t *role_of(const json_t *status, bool otherwise, pid_t pid)
{
	json_t *process;
	size_t i;

	json_array_foreach(json_object_get(status, "processes"), i, process)
	{
		json_t *role = json_object_get(process, "role");

		if (source_daemon_number(process, otherwise) == pid && json_is_string(role))
			return json_incref(role);
	}
	return json_null();
}

json_t *gpu_users_now(const char *socket)
{
	bool otherwise = source_daemon_counts_otherwise(socket);
	json_t *list, *status = NULL;
	char why[OBSERVE_WHY];
	struct gpu_processes users;

	if (observe_can_list(socket, why) || gpu_processes_read(OBSERVE_ALL, socket, &users))
		return json_null();
	/* Without a daemon `status` stays NULL, and every role is null. */
	query_daemon(socket, 0, &status);
	list = json_array();
	for (size_t i = 0; list && i < users.count && i < USERS; i++) {
		char comm[16];

		process_name(users.pid[i], comm);
		json_array_append_new(list,
				      json_pack("{s:I,s:o,s:o}", "pid", (json_int_t)users.pid[i],
						"comm", plain_or_null(comm), "role",
						role_of(status, otherwise, users.pid[i])));
	}
	gpu_processes_free(&users);
	json_decref(status);
	return list;
}

/* ---- from a recording ---- */

/* Returns the role if it is one that the daemon can give, else JSON null. */
static json_t *checked_role(const json_t *role)
{
	static const char *const roles[] = {"online", "offline", "seen"};
	const char *text = json_string_value(role);

	for (size_t i = 0; text && i < sizeof(roles) / sizeof(roles[0]); i++)
		if (strcmp(text, roles[i]) == 0)
			return json_string(roles[i]);
	return json_null();
}

json_t *gpu_users_read(const json_t *list)
{
	json_t *out = json_is_array(list) ? json_array() : json_null();
	const json_t *entry;
	size_t i;

	json_array_foreach(list, i, entry)
	{
		const char *name = json_string_value(json_object_get(entry, "comm"));
		json_int_t pid = json_integer_value(json_object_get(entry, "pid"));
		char comm[RECORDED_COMM];

		if (pid <= 0 || pid > INT32_MAX || json_array_size(out) == USERS)
			continue;
		snprintf(comm, sizeof(comm), "%s", name ? name : "");
		plain_text(comm);
		json_array_append_new(out, json_pack("{s:I,s:o,s:o}", "pid", pid, "comm",
						     plain_or_null(comm), "role",
						     checked_role(json_object_get(entry, "role"))));
	}
	return out;
}

static bool has(const json_t *list, const json_t *process)
{
	const json_t *entry;
	size_t i;

	json_array_foreach(list, i, entry)
	{
		if (json_equal(entry, process))
			return true;
	}
	return false;
}

/* Adds the process as a row that has whether it is in each list; null: the list is not known. */
static void add_row(json_t *rows, const json_t *process, const json_t *begin, const json_t *end)
{
	json_t *row = json_copy((json_t *)(uintptr_t)process);

	json_object_set_new(row, "begin",
			    json_is_array(begin) ? json_boolean(has(begin, process)) : json_null());
	json_object_set_new(row, "end",
			    json_is_array(end) ? json_boolean(has(end, process)) : json_null());
	json_array_append_new(rows, row);
}

int gpu_users_table(const json_t *begin, const json_t *end)
{
	json_t *rows = json_array();
	const json_t *process;
	size_t i;
	int rc;

	json_array_foreach(begin, i, process) add_row(rows, process, begin, end);
	/* One whose name or role has changed meanwhile has two rows. */
	json_array_foreach(end, i, process)
	{
		if (!has(begin, process))
			add_row(rows, process, begin, end);
	}
	rc = render_table(fields_gpu_user_row, "pid,comm,role,begin,end", rows, stdout);
	json_decref(rows);
	return rc;
}
