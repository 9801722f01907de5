// SPDX-License-Identifier: MIT
/* Checks each GPU: model, access rights, debug support, queues, memory, policy. */
#include "cli/doctor/checks.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/text.h"
#include "kfd/driver_rules.h"
#include "kfd/uapi.h"

#define GFX9 90000
#define GFX10 100000
#define GFX11 110000
/* Used share of the VRAM above which the check warns. */
#define VRAM_FULL 0.95

const char *doctor_gfx_name(char text[16], int64_t version)
{
	text[0] = '\0';
	if (version > 0)
		snprintf(text, 16, "gfx%u%x%x", (unsigned)(version / 10000 % 100),
			 (unsigned)(version / 100 % 100), (unsigned)(version % 100));
	return text;
}

/* Returns the name of the GPU's generation. */
static const char *generation(int64_t version)
{
	static const struct {
		int64_t from;
		const char *name;
	} generations[] = {
		{120000, "RDNA 4"}, {115000, "RDNA 3.5"}, {110000, "RDNA 3"},  {103000, "RDNA 2"},
		{100000, "RDNA 1"}, {90500, "CDNA 4"},	  {90400, "CDNA 3"},   {90010, "CDNA 2"},
		{90008, "CDNA 1"},  {90000, "GCN 5"},	  {1, "before GCN 5"},
	};

	for (size_t i = 0; i < sizeof(generations) / sizeof(generations[0]); i++)
		if (version >= generations[i].from)
			return generations[i].name;
	return "?";
}

/* Checks that the driver can suspend queues on this model, which it can from GFX9 on. */
static void check_model(struct doctor_run *c)
{
	const struct doctor_node *node = c->node;
	int64_t version = node->gfx_target_version;
	char name[16];

	finding_if(
		c, version > 0, version >= GFX9, DOCTOR_MISSING,
		"the driver suspends queues on gfx900 and newer: no preemption is possible on this GPU",
		"%s (%s); %s", doctor_gfx_name(name, version), generation(version),
		version >= GFX11 ? "a suspend affects only the queues of the process (MES)"
				 : "a suspend interrupts all processes for a moment (HWS)");
}

/* Checks that the render node can be opened. */
void check_render_node(struct doctor_run *c, const struct doctor_node *node)
{
	const struct doctor_facts *facts = c->facts;
	long long minor = (long long)node->render_minor;
	char user[96];

	if (node->render_minor < 0 || node->render_error < 0) {
		finding_unknown(c);
		return;
	}
	if (!node->render_error) {
		finding_ok(c, "/dev/dri/renderD%lld can be opened", minor);
		return;
	}
	finding_add(c, DOCTOR_MISSING, "/dev/dri/renderD%lld cannot be opened by %s: %s", minor,
		    facts->user, strerror(node->render_error));
	if (node->render_error == EACCES && facts->uid != 0)
		finding_advise(
			c,
			"add the user to the group of the device (video on older systems), and log in again: usermod -aG render %s",
			shell_word_or(user, sizeof(user), facts->user, "USER"));
	else
		finding_advise(c,
			       "pass the device to the container (docker run --device /dev/dri)");
}

/* Checks how many debug sessions the GPU supports at a time; each process that is suspended needs
 * one. */
void check_debugging(struct doctor_run *c, const struct doctor_node *node)
{
	int64_t capability = node->capability;

	if (capability < 0 ||
	    node->gfx_target_version < GFX9) { /* check_gpu() reports older GPUs */
		finding_unknown(c);
	} else if (!(capability & KFDABI_CAP_DEBUG)) {
		finding_bad(
			c, DOCTOR_MISSING,
			"its queues cannot be suspended: hold processes by KFDSHIM_LEVEL=gate, or use another GPU",
			"the driver does not support debugging of this GPU (capability, bit 15)");
	} else if (!kfdabi_per_vmid((uint32_t)node->gfx_target_version)) {
		finding_bad(
			c, DOCTOR_WARNING,
			"one process can be suspended by level trap or self: set KFDSHIM_LEVEL=gate for the others",
			"one debug session at a time on this GPU");
	} else if (!(capability & KFDABI_CAP_FIRMWARE_DEBUG)) {
		finding_bad(c, DOCTOR_WARNING,
			    "update linux-firmware (amdgpu), and start the machine again",
			    "any number of sessions, but the firmware is too old for debuggers");
	} else {
		finding_ok(c, "any number of sessions (one VMID each)");
	}
}

/* Reports the partition modes. */
void check_partition(struct doctor_run *c, const struct doctor_node *node)
{
	if (node->partition[0])
		finding_ok(c, "%s%s%s", node->partition, node->memory_partition[0] ? ", " : "",
			   node->memory_partition);
	else if (node->xccs == 1) /* modes need several XCCs (amdgpu_gfx.c) */
		finding_ok(c, "no partition modes: one XCC");
	else
		finding_unknown(c);
}

/* Checks that the compute queues fit into the hardware slots. If they do not, the firmware switches
 * between queues, and each change of a queue then takes longer for all processes. */
void check_queue_slots(struct doctor_run *c, const struct doctor_node *node)
{
	finding_if(
		c, node->queue_slots > 0 && node->compute_queues >= 0,
		node->compute_queues <= node->queue_slots, DOCTOR_WARNING,
		"the GPU time-slices the queues: run fewer processes there, or with fewer queues each (GPU_MAX_HW_QUEUES)",
		"%lld compute queues of all processes, %lld slots", (long long)node->compute_queues,
		(long long)node->queue_slots);
}

/* Checks that the VRAM limits of the processes on the node fit into its memory together, because a
 * suspended process keeps its memory. */
void check_vram_limits(struct doctor_run *c, const struct doctor_node *node)
{
	const struct doctor_facts *facts = c->facts;
	static const double gib = 1 << 30;
	unsigned limited = 0, unlimited = 0, unreadable = 0;
	double sum = 0;

	for (size_t i = 0; i < facts->process_count; i++) {
		const struct doctor_process *p = &facts->processes[i];

		for (size_t n = 0; n < p->node_count; n++) {
			if (p->gpu_ids[n] != node->gpu_id)
				continue;
			if (p->vram_limit >= 0) {
				sum += (double)p->vram_limit;
				limited++;
			} else if (p->environment_read == DOCTOR_YES) {
				unlimited++;
			} else {
				unreadable++;
			}
			break;
		}
	}
	if (node->vram_bytes <= 0 || (unreadable && sum <= (double)node->vram_bytes)) {
		finding_unknown(c);
		if (unreadable && node->vram_bytes > 0)
			finding_advise(
				c,
				"run this as root: the limits of other users' processes are not visible");
		return;
	}
	bool fits = sum <= (double)node->vram_bytes;

	finding_bad(
		c, fits ? DOCTOR_OK : DOCTOR_WARNING,
		"set KFDSHIM_VRAM_LIMIT of these processes so that their sum fits: a suspended process keeps its memory",
		"%u limits add up to %.1f of %.1f GiB; %u processes without a limit", limited,
		sum / gib, (double)node->vram_bytes / gib, unlimited);
}

/* Checks that the card has memory left, because the driver evicts queues if it has none. */
void check_vram(struct doctor_run *c, const struct doctor_node *node)
{
	static const double gib = 1 << 30;
	double all = (double)node->card_vram_bytes, used = (double)node->card_vram_used;

	finding_if(
		c, all > 0, used <= VRAM_FULL * all, DOCTOR_WARNING,
		"set KFDSHIM_VRAM_LIMIT of the offline processes: a suspended process keeps its memory, and the driver evicts queues when there is none",
		"%.1f of %.1f GiB of the card are in use, by all processes", used / gib, all / gib);
}

/* Reports GPUs that have a render node and are not in KFD's topology. */
void check_card(struct doctor_run *c, const struct doctor_facts *facts)
{
	for (size_t i = 0; i < facts->card_count; i++) {
		finding_bad(
			c, DOCTOR_WARNING,
			"look for 'kfd' in the kernel's log (dmesg), or use another GPU; in a container compare the devices with the topology",
			"%s (renderD%u) is an AMD GPU without a KFD node: no compute queues",
			facts->cards[i].bdf, facts->cards[i].render_minor);
	}
}

/* Checks that the daemon's policy for the node is not "observe", with which no process is
 * suspended. */
void check_policy(struct doctor_run *c, const struct doctor_node *node)
{
	bool holds = strcmp(node->policy, "observe") != 0;

	if (!c->facts->daemon.error)
		finding_if(
			c, node->policy[0], holds, DOCTOR_WARNING,
			"set another policy: 'kfdsched policy strict', or in kfdschedd's configuration",
			"%s%s", node->policy, holds ? "" : ": no process is held on this GPU");
}

void check_gpu(struct doctor_run *c, const struct doctor_facts *facts)
{
	if (!facts->node_count && facts->forbidden_nodes)
		finding_bad(
			c, DOCTOR_MISSING,
			"the device rules of the container forbid them: pass one (docker run --device /dev/kfd --device /dev/dri/renderD128)",
			"%u GPUs, none of which is accessible here", facts->forbidden_nodes);
	else if (!facts->node_count)
		finding_bad(c, DOCTOR_MISSING,
			    "use a machine with one, or a simulated one: 'kfdsim -- COMMAND'",
			    "no AMD GPU");
	for (size_t i = 0; i < facts->node_count; i++) {
		c->node = &facts->nodes[i];
		check_model(c);
	}
	if (!facts->more_nodes)
		return;
	c->node = NULL;
	finding_bad(c, DOCTOR_WARNING, "check the others from containers that have fewer GPUs",
		    "more than %d nodes: the others are not checked", DOCTOR_NODES);
}
