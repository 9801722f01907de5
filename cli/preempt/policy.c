// SPDX-License-Identifier: MIT
/* kfdsched policy: prints or sets the policy of the nodes. */
#include <stdlib.h>
#include <string.h>

#include "cli/preempt/preempt.h"
#include "cli/util/daemon_query.h"
#include "cli/util/gpus.h"
#include "cli/util/objects.h"
#include "common/json_util.h"
#include "common/parse.h"
#include "common/policy.h"

/* Parses a node: any name of a GPU of this machine, or a gpu_id, because the daemon can have nodes
 * that are not visible here. Returns false if `text` is neither. */
static bool read_node(const char *text, unsigned *out)
{
	uint64_t n;

	*out = gpus_find(text);
	if (*out)
		return true;
	if (!parse_uint(text, &n) || n == 0 || n > UINT_MAX)
		return false;
	*out = (unsigned)n;
	return true;
}

/* Parses "share=20" or "share=20%", 1 to 99 percent. Returns false if it is malformed. */
static bool read_share(const char *text, unsigned *percent)
{
	char *end;
	unsigned long n;

	if (strncmp(text, "share=", 6) != 0 || text[6] < '0' || text[6] > '9')
		return false;
	n = strtoul(text + 6, &end, 10);
	*percent = n > 99 ? 0 : (unsigned)n;
	end += *end == '%';
	return *end == '\0' && *percent > 0;
}

/* Extracts {"default": ..., "nodes": [...]} from the daemon's status; `gpu_id` 0: all nodes. */
static json_t *select_policies(const json_t *status, unsigned gpu_id)
{
	static const char *const keys[] = {"gpu_id", "policy", "share_percent"};
	const json_t *daemon = json_object_get(status, "daemon");
	json_t *nodes = json_array(), *node;
	size_t i;

	json_array_foreach(json_object_get(status, "nodes"), i, node)
	{
		json_t *entry = json_object();

		for (size_t k = 0; k < sizeof(keys) / sizeof(keys[0]); k++)
			json_object_set(entry, keys[k], json_object_get(node, keys[k]));
		if (!gpu_id || json_integer_value(json_object_get(node, "gpu_id")) == gpu_id)
			json_array_append(nodes, entry);
		json_decref(entry);
	}
	return json_pack("{s{sOsO}so}", "default", "policy", json_object_get(daemon, "policy"),
			 "share_percent", json_object_get(daemon, "share_percent"), "nodes", nodes);
}

/* Prints policies. `all`: also the default, for the nodes without a policy of their own. */
static void print_policies(const json_t *policies, bool all)
{
	json_t *rows = json_copy(json_object_get(policies, "nodes"));

	if (all) {
		json_t *others = json_copy(json_object_get(policies, "default"));

		json_object_set_new(others, "gpu_id", json_string("others"));
		json_array_append_new(rows, others);
	}
	render_table(fields_node_policy, "<gpu_id,policy,share_percent,GPU,NAME", rows, stdout);
}

static int show(const struct control_req *req, unsigned gpu_id)
{
	json_t *status, *policies;
	int code = daemon_query_status(&cmd_policy, req->socket, 0, false, &status);

	if (code != CLI_GO_ON)
		return code;
	policies = select_policies(status, gpu_id);
	json_decref(status);
	if (!policies)
		return cli_failed(&cmd_policy, "the daemon's reply has no policies");
	if (gpu_id && json_array_size(json_object_get(policies, "nodes")) == 0) {
		code = cli_failed(&cmd_policy,
				  "there is no node %u: 'kfdsched status' lists the nodes", gpu_id);
	} else {
		code = CLI_DONE;
		if (req->json)
			render_print(json_incref(policies), JSON_INDENT(2));
		else
			print_policies(policies, !gpu_id);
	}
	json_decref(policies);
	return code;
}

static int set(const struct control_req *req, unsigned gpu_id, const char *name, unsigned share)
{
	int rc = kfdsched_set_policy(req->daemon, gpu_id, name, share);

	return control_req_print_done(&cmd_policy, req, rc,
				      json_pack("{so ss so}", "gpu_id", json_number(gpu_id, gpu_id),
						"policy", name, "share_percent",
						json_number(share, share)));
}

/* Carries out the words of the command line, [NODE] [POLICY [share=PERCENT]]: sets the policy, or
 * shows the present ones if POLICY is missing. `word` ends with NULL. Returns the exit code. */
static int apply(const struct control_req *req, const char *const *word)
{
	enum policy policy;
	unsigned gpu_id = 0, share = 0;
	const char *name;

	/* NODE is optional: the first word is the policy if it does not name a node. */
	if (*word && read_node(*word, &gpu_id))
		word++;
	if (!*word)
		return show(req, gpu_id);
	name = *word++;
	if (policy_parse(name, &policy))
		return cli_usage(&cmd_policy, "'%s' is neither a node (a gpu_id) nor a policy: %s",
				 name, policy_names());
	if (policy_takes_share(policy)) {
		if (!*word || !read_share(*word, &share))
			return cli_usage(
				&cmd_policy,
				"policy %s needs share=1 to share=99 (percent), such as share=20%%",
				name);
		word++;
	}
	if (*word)
		return options_too_many(&cmd_policy, *word);
	return set(req, gpu_id, name, share);
}

static int run(int argc, char **argv)
{
	const char *words[4] = {NULL};
	struct control_req req = {0};
	const struct cli_option options[] = {
		{OPTION_JSON(&req.json)},
		{OPTION_SOCKET(&req.socket)},
		{OPTION_TEXT("node", &words[0]), .word = true, .optional = true},
		{OPTION_TEXT("policy", &words[1]), .word = true, .optional = true},
		{OPTION_TEXT("share", &words[2]), .word = true, .optional = true},
		{0},
	};
	int code = control_req_read(&cmd_policy, argc, argv, options, &req);

	if (code != CLI_GO_ON)
		return code;
	code = apply(&req, words);
	kfdsched_close(req.daemon);
	return code;
}

const struct cli_command cmd_policy = {
	.name = "policy",
	.summary = "show or set how a GPU is shared between urgent and other work",
	.usage = "[NODE] [POLICY [share=PERCENT]] [--json] [--socket PATH]",
	.help = "Without a policy: prints the policy of each node, or of NODE. NODE is the index, PCI\n"
		"address, render node or gpu_id of a GPU; 'kfdsched status' prints all of them.\n"
		"With a policy: sets it on NODE, or on all nodes without their own policy, until the daemon\n"
		"ends; a permanent policy belongs into its configuration. Setting needs root, or the\n"
		"daemon's admin_group.\n"
		"\n"
#define POLICY(name, min, max, parameter, summary) "  " #name parameter ": " summary "\n"
#include "common/policies.def"
#undef POLICY
		"\n"
		"  --json         prints the result as JSON (docs/reference/control.md)\n" HELP_SOCKET
		"\n"
		"Examples:\n"
		"  kfdsched policy 19729 share share=20%\n"
		"  kfdsched policy observe\n",
	.run = run,
};
