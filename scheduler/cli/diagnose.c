// SPDX-License-Identifier: MIT
/* kfdsched diagnose: the story of one process, and what to do about it. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "scheduler/cli/ask.h"
#include "scheduler/cli/diagnose.h"

static int refused(pid_t pid, int error)
{
	char text[PROCESS_SENTENCE];

	if (error == -ENOMEM)
		return cli_failed(&verb_diagnose, "no memory for what there is to say");
	return cli_failed(&verb_diagnose, "%s", process_sentence(text, pid, error));
}

/* One process; with `list`, its JSON goes there. */
static int diagnose(const char *socket, pid_t pid, json_t *list, bool *simulated)
{
	struct diagnose_facts facts;
	struct diagnosis diagnosis = {0};
	int rc = diagnose_gather(&facts, socket, pid);

	if (!rc)
		rc = diagnose_judge(&facts, &diagnosis);
	if (!rc && list)
		rc = json_array_append_new(list, diagnose_json(&facts, &diagnosis)) ? -ENOMEM : 0;
	else if (!rc)
		rc = diagnose_print(&facts, &diagnosis);
	int code = rc ? refused(pid, rc) : CLI_DONE;

	*simulated = facts.machine.simulated;
	diagnosis_free(&diagnosis);
	diagnose_free(&facts);
	return code;
}

static int report(const char *socket, const pid_t *pids, size_t count, bool as_json)
{
	json_t *list = as_json ? json_array() : NULL;
	bool simulated = false;
	int code = CLI_FAILED;

	for (size_t i = 0; i < count; i++) {
		if (i && !as_json)
			printf("\n\n");
		/* Of several, one may end meanwhile. */
		if (diagnose(socket, pids[i], list, &simulated) == CLI_DONE)
			code = CLI_DONE;
	}
	if (as_json && code == CLI_DONE) {
		json_t *root = json_pack("{sb sO}", "simulated", (int)simulated, "processes", list);

		json_dumpf(root, stdout, JSON_INDENT(2));
		putchar('\n');
		json_decref(root);
	}
	json_decref(list);
	return code;
}

static int run(int argc, char **argv)
{
	struct ask_options options = {0};
	int pid, code = ask_options(&verb_diagnose, argc, argv, &options);

	if (code == ASK_GO_ON)
		code = ask_pid(&verb_diagnose, argc, argv, &pid);
	if (code != ASK_GO_ON)
		return code;
	if (!pid)
		return cli_usage(&verb_diagnose, "which process? Name its PID");
	return report(options.socket, &pid, 1, options.json);
}

const struct verb verb_diagnose = {
	.name = "diagnose",
	.summary = "one process: is it well, what has it on the GPUs, can it be preempted",
	.usage = "PID [--json] [--socket PATH]",
	.help = "Says in one line whether a process is alive, uses a GPU and can be preempted, "
		"and at\n"
		"which level; then what that rests on: its state, its pids and its container, "
		"who\n"
		"traces it, how it is known that it uses a GPU, its queues, whether its runtime "
		"is\n"
		"enabled for debugging, each level and why it is not had, and what stands in the "
		"way\n"
		"with the command that mends it. What cannot be seen from here is '-'. Nothing "
		"is\n"
		"stopped, suspended or attached to. 'kfdsched doctor' checks the machine.\n"
		"\n"
		"  --json         docs/formats.md names the keys\n"
		"  --socket PATH  where the daemon listens; without it KFDSHIM_SOCKET, or\n"
		"                 /run/kfdsched/socket\n"
		"\n"
		"The exit code is 0 if there is something to say, 1 if there is no such "
		"process.\n"
		"\n"
		"Examples:\n"
		"  kfdsched diagnose 4711\n"
		"  kfdsched diagnose 4711 --json | jq -r '.processes[].verdict'\n",
	.run = run,
};
