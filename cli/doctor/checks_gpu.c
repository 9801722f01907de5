// SPDX-License-Identifier: MIT
/* The checks of each GPU: model, access rights, debug support, queues, memory, policy. */
#include "cli/doctor/checks_driver.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/shell_word.h"
#include "kfd/driver_rules.h"
#include "kfd/uapi.h"

#define GFX9 90000
#define GFX10 100000
#define GFX11 110000
/* Part of the memory above which little is left. */
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
static void check_gpu(const struct doctor_node *node, struct doctor_findings *out)
{
	char name[16];

	if (node->gfx_target_version <= 0) {
		doctor_find(out, "gpu", node->gpu_id, 0, DOCTOR_CANNOT_KNOW, "-");
		return;
	}
	bool able = node->gfx_target_version >= GFX9;

	doctor_find(out, "gpu", node->gpu_id, 0, able ? DOCTOR_OK : DOCTOR_MISSING, "%s (%s); %s",
		    doctor_gfx_name(name, node->gfx_target_version),
		    generation(node->gfx_target_version),
		    node->gfx_target_version >= GFX11
			    ? "a suspend affects only the queues of the process (MES)"
			    : "a suspend interrupts all processes for a moment (HWS)");
	if (!able)
		doctor_advise(out, "the driver suspends queues on gfx900 and newer: no preemption "
				   "is possible on this GPU");
}

/* Checks that the render node can be opened. */
static void check_render(const struct doctor_facts *facts, const struct doctor_node *node,
			 struct doctor_findings *out)
{
	long long minor = (long long)node->render_minor;
	char user[96];

	if (node->render_minor < 0 || node->render_error < 0) {
		doctor_find(out, "render_node", node->gpu_id, 0, DOCTOR_CANNOT_KNOW, "-");
		return;
	}
	if (!node->render_error) {
		doctor_find(out, "render_node", node->gpu_id, 0, DOCTOR_OK,
			    "/dev/dri/renderD%lld can be opened", minor);
		return;
	}
	doctor_find(out, "render_node", node->gpu_id, 0, DOCTOR_MISSING,
		    "/dev/dri/renderD%lld cannot be opened by %s: %s", minor, facts->user,
		    strerror(node->render_error));
	if (node->render_error == EACCES && facts->uid != 0)
		doctor_advise(out,
			      "add the user to the group of the device (video on older systems), "
			      "and log in again: usermod -aG render %s",
			      shell_word_or(user, sizeof(user), facts->user, "USER"));
	else
		doctor_advise(out, "pass the device to the container (docker run --device "
				   "/dev/dri)");
}

/* Checks how many debug sessions the GPU supports at a time; each process that is suspended needs
 * one. */
static void check_debugging(const struct doctor_node *node, struct doctor_findings *out)
{
	int64_t capability = node->capability;

	if (capability < 0 ||
	    node->gfx_target_version < GFX9) { /* see check_gpu() for the latter */
		doctor_find(out, "debugging", node->gpu_id, 0, DOCTOR_CANNOT_KNOW, "-");
	} else if (!(capability & KFDABI_CAP_DEBUG)) {
		doctor_find(out, "debugging", node->gpu_id, 0, DOCTOR_MISSING,
			    "the driver does not support debugging of this GPU (capability, bit "
			    "15)");
		doctor_advise(out, "its queues cannot be suspended: hold processes by "
				   "KFDSHIM_LEVEL=gate, or use another GPU");
	} else if (!kfdabi_per_vmid((uint32_t)node->gfx_target_version)) {
		doctor_find(out, "debugging", node->gpu_id, 0, DOCTOR_WARNING,
			    "one debug session at a time on this GPU");
		doctor_advise(out, "one process can be suspended by level trap or self: set "
				   "KFDSHIM_LEVEL=gate for the others");
	} else if (!(capability & KFDABI_CAP_FIRMWARE_DEBUG)) {
		doctor_find(out, "debugging", node->gpu_id, 0, DOCTOR_WARNING,
			    "any number of sessions, but the firmware is too old for debuggers");
		doctor_advise(out, "update linux-firmware (amdgpu), and start the machine again");
	} else {
		doctor_find(out, "debugging", node->gpu_id, 0, DOCTOR_OK,
			    "any number of sessions (one VMID each)");
	}
}

/* Reports the partition modes. */
static void check_partition(const struct doctor_node *node, struct doctor_findings *out)
{
	if (node->partition[0])
		doctor_find(out, "partition", node->gpu_id, 0, DOCTOR_OK, "%s%s%s", node->partition,
			    node->memory_partition[0] ? ", " : "", node->memory_partition);
	else if (node->xccs == 1) /* only several XCCs have modes (amdgpu_gfx.c) */
		doctor_find(out, "partition", node->gpu_id, 0, DOCTOR_OK,
			    "no partition modes: one XCC");
	else
		doctor_find(out, "partition", node->gpu_id, 0, DOCTOR_CANNOT_KNOW, "-");
}

/* Checks that the compute queues fit into the hardware slots. If they do not, the firmware switches
 * between queues, and each change of a queue costs all processes more. */
static void check_queues(const struct doctor_node *node, struct doctor_findings *out)
{
	if (node->queue_slots <= 0 || node->compute_queues < 0) {
		doctor_find(out, "queue_slots", node->gpu_id, 0, DOCTOR_CANNOT_KNOW, "-");
		return;
	}
	bool fits = node->compute_queues <= node->queue_slots;

	doctor_find(out, "queue_slots", node->gpu_id, 0, fits ? DOCTOR_OK : DOCTOR_WARNING,
		    "%lld compute queues of all processes, %lld slots",
		    (long long)node->compute_queues, (long long)node->queue_slots);
	if (!fits)
		doctor_advise(out, "the GPU time-slices the queues: run fewer processes there, or "
				   "with fewer queues each (GPU_MAX_HW_QUEUES)");
}

/* Checks that the VRAM limits of the processes on the node fit into its memory together, because a
 * suspended process keeps its memory. */
static void check_vram(const struct doctor_facts *facts, const struct doctor_node *node,
		       struct doctor_findings *out)
{
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
		doctor_find(out, "vram_limits", node->gpu_id, 0, DOCTOR_CANNOT_KNOW, "-");
		if (unreadable && node->vram_bytes > 0)
			doctor_advise(out, "run this as root: the limits of other users' processes "
					   "are not visible");
		return;
	}
	bool fits = sum <= (double)node->vram_bytes;

	doctor_find(out, "vram_limits", node->gpu_id, 0, fits ? DOCTOR_OK : DOCTOR_WARNING,
		    "%u limits add up to %.1f of %.1f GiB; %u processes without a limit", limited,
		    sum / gib, (double)node->vram_bytes / gib, unlimited);
	if (!fits)
		doctor_advise(out, "set KFDSHIM_VRAM_LIMIT of these processes so that their sum "
				   "fits: a suspended process keeps its memory");
}

/* Checks that the card has memory left: if none is, the driver evicts queues. */
static void check_use_of_vram(const struct doctor_node *node, struct doctor_findings *out)
{
	static const double gib = 1 << 30;
	double all = (double)node->card_vram_bytes, used = (double)node->card_vram_used;

	if (node->card_vram_bytes <= 0) {
		doctor_find(out, "vram", node->gpu_id, 0, DOCTOR_CANNOT_KNOW, "-");
		return;
	}
	bool fits = used <= VRAM_FULL * all;

	doctor_find(out, "vram", node->gpu_id, 0, fits ? DOCTOR_OK : DOCTOR_WARNING,
		    "%.1f of %.1f GiB of the card are in use, by all processes", used / gib,
		    all / gib);
	if (!fits)
		doctor_advise(out, "set KFDSHIM_VRAM_LIMIT of the offline processes: a suspended "
				   "process keeps its memory, and the driver evicts queues when "
				   "there is none");
}

/* Reports GPUs that have a render node and are not in KFD's topology. */
static void check_cards(const struct doctor_facts *facts, struct doctor_findings *out)
{
	for (size_t i = 0; i < facts->card_count; i++) {
		doctor_find(out, "card", 0, 0, DOCTOR_WARNING,
			    "%s (renderD%u) is an AMD GPU without a KFD node: no compute queues",
			    facts->cards[i].bdf, facts->cards[i].render_minor);
		doctor_advise(out, "look for 'kfd' in the kernel's log (dmesg), or use another "
				   "GPU; in a container compare the devices with the topology");
	}
}

/* Checks that the daemon's policy for the node holds processes at all. */
static void check_policy(const struct doctor_node *node, struct doctor_findings *out)
{
	bool holds = strcmp(node->policy, "observe") != 0;

	if (!node->policy[0]) {
		doctor_find(out, "policy", node->gpu_id, 0, DOCTOR_CANNOT_KNOW, "-");
		return;
	}
	doctor_find(out, "policy", node->gpu_id, 0, holds ? DOCTOR_OK : DOCTOR_WARNING, "%s%s",
		    node->policy, holds ? "" : ": no process is held on this GPU");
	if (!holds)
		doctor_advise(out, "set another policy: 'kfdsched policy strict', or in "
				   "kfdschedd's configuration");
}

void doctor_check_nodes(const struct doctor_facts *facts, struct doctor_findings *out)
{
	if (!facts->node_count && facts->forbidden_nodes) {
		doctor_find(out, "gpu", 0, 0, DOCTOR_MISSING,
			    "%u GPUs, none of which is accessible here", facts->forbidden_nodes);
		doctor_advise(out, "the device rules of the container forbid them: pass one "
				   "(docker run --device /dev/kfd --device /dev/dri/renderD128)");
	} else if (!facts->node_count) {
		doctor_find(out, "gpu", 0, 0, DOCTOR_MISSING, "no AMD GPU");
		doctor_advise(out, "use a machine with one, or a simulated one: 'kfdsim -- "
				   "COMMAND'");
	}
	for (size_t i = 0; i < facts->node_count; i++) {
		const struct doctor_node *node = &facts->nodes[i];

		check_gpu(node, out);
		check_render(facts, node, out);
		check_debugging(node, out);
		check_partition(node, out);
		check_queues(node, out);
		check_vram(facts, node, out);
		check_use_of_vram(node, out);
		if (facts->daemon.error == 0)
			check_policy(node, out);
	}
	check_cards(facts, out);
	if (facts->more_nodes) {
		doctor_find(out, "gpu", 0, 0, DOCTOR_WARNING,
			    "more than %d nodes: the others are not checked", DOCTOR_NODES);
		doctor_advise(out, "check the others from containers that have fewer GPUs");
	}
}
