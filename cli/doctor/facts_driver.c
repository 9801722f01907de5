// SPDX-License-Identifier: MIT
/*
 * Collects the facts about kernel, driver and GPUs from uname, sysfs, /dev/kfd and libdrm.
 *
 * libdrm lists only character devices. In a container these are the devices that were passed in.
 * Under kfdsim it lists none, because the render nodes are plain files, unless libkfdsim-stat.so is
 * preloaded.
 */
#include "cli/doctor/facts.h"

#include <amdgpu_drm.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>
#include <xf86drm.h>

#include "cli/util/gpus.h"
#include "cli/util/read_files.h"
#include "cli/util/sim_info.h"
#include "common/allocate.h"
#include "kfd/topology.h"
#include "kfd/uapi.h"

#define MODULE "/sys/module/amdgpu"
#define NODES "/sys/class/kfd/kfd/topology/nodes"
/* Heap types of memory banks (kfd_crat.h). */
#define VRAM_PUBLIC 1
#define VRAM_PRIVATE 2
#define VENDOR_AMD 0x1002
#define CARDS 64 /* cards of all vendors that libdrm lists */

void doctor_process_init(struct doctor_process *process, int pid)
{
	*process = (struct doctor_process){
		.pid = pid,
		.uses_gpu = DOCTOR_UNKNOWN,
		.registered = DOCTOR_UNKNOWN,
		.level = LEVEL_UNKNOWN,
		.env_level = LEVEL_UNKNOWN,
		.runtime = DOCTOR_UNKNOWN,
		.held = DOCTOR_UNKNOWN,
		.priority = -1,
		.suspends = -1,
		.suspended_us = -1,
		.shim = DOCTOR_UNKNOWN,
		.kfd_open = DOCTOR_UNKNOWN,
		.set_id = DOCTOR_UNKNOWN,
		.static_program = DOCTOR_UNKNOWN,
		.other_class = DOCTOR_UNKNOWN,
		.tracer = -1,
		.environment_read = DOCTOR_UNKNOWN,
		.preload_there = DOCTOR_UNKNOWN,
		.vram_limit = -1,
	};
}

void doctor_facts_init(struct doctor_facts *facts)
{
	*facts = (struct doctor_facts){
		.module = DOCTOR_UNKNOWN,
		.out_of_tree = DOCTOR_UNKNOWN,
		.cwsr_enable = -1,
		.sched_policy = -1,
		.kfd_error = -1,
		.kfd_group = -1,
		.kfd_major = -1,
		.kfd_minor = -1,
		.sys_ptrace = DOCTOR_UNKNOWN,
		.yama = -1,
		.ptrace_error = -1,
		.initial_pid_namespace = DOCTOR_UNKNOWN,
		.daemon = {.error = -1,
			   .reply_us = -1,
			   .pid = -1,
			   .worker_pid = -1,
			   .here = DOCTOR_UNKNOWN,
			   .uptime_us = -1,
			   .failures = -1,
			   .suspends = -1,
			   .restarts = -1,
			   .refused_calls = -1,
			   .room = -1,
			   .refused = -1,
			   .sys_ptrace = DOCTOR_UNKNOWN,
			   .open_files = -1},
		.preload_works = DOCTOR_UNKNOWN,
		.agent_works = DOCTOR_UNKNOWN,
		.shm_error = -1,
		.eventfd_error = -1,
		.open_files = -1,
		.named = {.paused = DOCTOR_UNKNOWN,
			  .dumpable = DOCTOR_UNKNOWN,
			  .same_user_namespace = DOCTOR_UNKNOWN},
	};
}

void doctor_facts_free(struct doctor_facts *facts)
{
	free(facts->nodes);
	free(facts->processes);
	observation_free(&facts->named.seen);
	facts->nodes = NULL;
	facts->processes = NULL;
	facts->node_count = facts->process_count = 0;
}

/* Reads whether amdgpu is loaded, its origin and its parameters. */
static void collect_driver(struct doctor_facts *facts)
{
	char text[64];

	facts->module = access(MODULE, F_OK) ? DOCTOR_NO : DOCTOR_YES;
	if (facts->module == DOCTOR_NO)
		return;
	/* MODULE/taint has an "O" for a driver from outside the kernel's tree. A driver that is
	 * built into the kernel has no such file. */
	if (!read_text(text, sizeof(text), MODULE "/taint"))
		facts->out_of_tree = strchr(text, 'O') ? DOCTOR_YES : DOCTOR_NO;
	read_text(facts->driver_version, sizeof(facts->driver_version), MODULE "/version");
	read_number(&facts->cwsr_enable, MODULE "/parameters/cwsr_enable");
	read_number(&facts->sched_policy, MODULE "/parameters/sched_policy");
}

/* Opens /dev/kfd for a moment to read the version of its interface, and reads the group of the
 * device. */
static void collect_device(struct doctor_facts *facts)
{
	struct kfd_ioctl_get_version_args version = {0};
	struct stat st;
	int fd = open("/dev/kfd", O_RDWR | O_CLOEXEC);

	facts->kfd_error = fd < 0 ? errno : 0;
	if (stat("/dev/kfd", &st) == 0) {
		const struct group *group = getgrgid(st.st_gid);

		facts->kfd_group = st.st_gid;
		snprintf(facts->kfd_group_name, sizeof(facts->kfd_group_name), "%s",
			 group ? group->gr_name : "");
	}
	if (fd < 0)
		return;
	if (ioctl(fd, KFDABI_IOC_GET_VERSION, &version) == 0) {
		facts->kfd_major = version.major_version;
		facts->kfd_minor = version.minor_version;
	}
	close(fd);
}

/* Adds up the VRAM of the node. */
static void collect_memory(struct doctor_node *node, unsigned nth)
{
	int64_t banks = 0, bytes, type;

	read_property(&banks, "mem_banks_count", NODES "/%u/properties", nth);
	for (int64_t bank = 0; bank < banks && bank < 16; bank++) {
		bytes = type = -1;
		read_property(&type, "heap_type", NODES "/%u/mem_banks/%d/properties", nth,
			      (int)bank);
		read_property(&bytes, "size_in_bytes", NODES "/%u/mem_banks/%d/properties", nth,
			      (int)bank);
		if ((type == VRAM_PUBLIC || type == VRAM_PRIVATE) && bytes > 0)
			node->vram_bytes = (node->vram_bytes > 0 ? node->vram_bytes : 0) + bytes;
	}
}

/* Reads the memory of the whole card with all its partitions; fd: the open render node. */
static void collect_card_memory(struct doctor_node *node, int fd)
{
	struct drm_amdgpu_memory_info memory = {0};
	struct drm_amdgpu_info query = {.return_pointer = (uintptr_t)&memory,
					.return_size = sizeof(memory),
					.query = AMDGPU_INFO_MEMORY};

	if (drmCommandWrite(fd, DRM_AMDGPU_INFO, &query, sizeof(query)))
		return;
	node->card_vram_bytes = (int64_t)memory.vram.total_heap_size;
	node->card_vram_used = (int64_t)memory.vram.heap_usage;
}

/* Adds a node, and tries to open its render node. */
static void add_node(struct doctor_facts *facts, const struct topology_gpu *gpu)
{
	struct doctor_node *node = &facts->nodes[facts->node_count++];
	const struct gpu_name *name = gpus_name(gpu->gpu_id);
	char path[64];
	int fd;

	*node = (struct doctor_node){
		.gpu_id = gpu->gpu_id,
		.gfx_target_version =
			gpu->gfx_target_version ? (int64_t)gpu->gfx_target_version : -1,
		.capability = gpu->capability ? (int64_t)gpu->capability : -1,
		.render_minor = gpu->render_minor,
		.render_error = -1,
		.queue_slots = gpu->cp_queues,
		.cwsr_size = -1,
		.compute_queues = -1,
		.vram_bytes = -1,
		.card_vram_bytes = -1,
		.card_vram_used = -1,
		.xccs = gpu->xccs,
	};
	read_property(&node->cwsr_size, "cwsr_size", NODES "/%u/properties", gpu->node);
	collect_memory(node, gpu->node);
	if (name) {
		snprintf(node->partition, sizeof(node->partition), "%s", name->mode);
		read_text(node->memory_partition, sizeof(node->memory_partition),
			  "/sys/bus/pci/devices/%s/current_memory_partition", name->bdf);
	}
	if (!node->render_minor)
		return;
	snprintf(path, sizeof(path), "/dev/dri/renderD%u", gpu->render_minor);
	fd = open(path, O_RDWR | O_CLOEXEC);
	node->render_error = fd < 0 ? errno : 0;
	if (fd < 0)
		return;
	collect_card_memory(node, fd);
	close(fd);
}

static bool is_node(const struct doctor_facts *facts, const struct doctor_card *card)
{
	const struct gpu_name *names;
	size_t n;

	for (size_t i = 0; i < facts->node_count; i++)
		if (facts->nodes[i].render_minor == card->render_minor)
			return true;
	names = gpus_all(&n);
	for (size_t i = 0; i < n; i++)
		if (!strcmp(names[i].bdf, card->bdf))
			return true;
	return false;
}

/* Reads a device of libdrm's list. Returns false if it is not a PCI GPU of AMD with a render node
 * that this process can see. A partition of a GPU is a platform device (amdgpu_xcp_drv.c), which
 * has no vendor. */
static bool read_card(const drmDevice *device, struct doctor_card *out)
{
	const char *digits;

	if (device->bustype != DRM_BUS_PCI || device->deviceinfo.pci->vendor_id != VENDOR_AMD ||
	    !(device->available_nodes & 1 << DRM_NODE_RENDER))
		return false;
	digits = strpbrk(device->nodes[DRM_NODE_RENDER], "0123456789");
	if (!digits || sscanf(digits, "%u", &out->render_minor) != 1)
		return false;
	snprintf(out->bdf, sizeof(out->bdf), "%04x:%02x:%02x.%u", device->businfo.pci->domain,
		 device->businfo.pci->bus, device->businfo.pci->dev, device->businfo.pci->func);
	return true;
}

/* Stores the GPUs that libdrm lists and that are not nodes of KFD. Opens no device. */
static void collect_cards(struct doctor_facts *facts)
{
	drmDevicePtr devices[CARDS];
	int n = drmGetDevices2(0, devices, CARDS);
	struct doctor_card card;

	/* The result can exceed the length of the array (libdrm 2.4.114). */
	if (n > CARDS)
		n = CARDS;
	for (int i = 0; i < n && facts->card_count < DOCTOR_CARDS; i++)
		if (read_card(devices[i], &card) && !is_node(facts, &card))
			facts->cards[facts->card_count++] = card;
	if (n > 0)
		drmFreeDevices(devices, n);
}

/* Returns the number of GPUs that the device cgroup forbids: the driver then returns EPERM
 * (kfd_topology.c). */
static unsigned count_forbidden(void)
{
	DIR *dir = opendir(NODES);
	const struct dirent *entry;
	unsigned count = 0;
	int64_t gpu_id;

	while (dir && (entry = readdir(dir)))
		count += read_number(&gpu_id, NODES "/%s/gpu_id", entry->d_name) == -EPERM;
	if (dir)
		closedir(dir);
	return count;
}

/* Reads the nodes in the order of their numbers. */
static void collect_nodes(struct doctor_facts *facts)
{
	struct topology_gpu gpus[DOCTOR_NODES + 1];
	size_t n = topology_gpus(gpus, DOCTOR_NODES + 1);

	facts->more_nodes = n > DOCTOR_NODES;
	facts->forbidden_nodes = count_forbidden();
	facts->nodes = allocate(DOCTOR_NODES, sizeof(*facts->nodes));
	for (size_t i = 0; i < n && i < DOCTOR_NODES; i++)
		add_node(facts, &gpus[i]);
}

/* Copies the policy of each node from the daemon's reply. */
static void collect_policies(struct doctor_facts *facts, const json_t *status)
{
	json_t *entry;
	size_t i;

	json_array_foreach(json_object_get(status, "nodes"), i, entry)
	{
		const char *policy = json_string_value(json_object_get(entry, "policy"));
		json_int_t gpu_id = json_integer_value(json_object_get(entry, "gpu_id"));

		for (size_t n = 0; policy && n < facts->node_count; n++)
			if (facts->nodes[n].gpu_id == gpu_id)
				snprintf(facts->nodes[n].policy, sizeof(facts->nodes[n].policy),
					 "%s", policy);
	}
}

int doctor_collect(struct doctor_facts *facts, const char *socket, int pid)
{
	struct simulation simulation = {0};
	struct utsname name;
	json_t *status = NULL;
	int rc;

	doctor_facts_init(facts);
	rc = pid ? doctor_collect_named(&facts->named, pid) : 0;
	if (rc)
		return rc;
	facts->chosen_pid = facts->named.identity.pid ? facts->named.identity.pid : pid;
	/* A file that exists but cannot be read still shows that the GPU is simulated. */
	if (simulation_read(SIMULATION_PATH, &simulation) != -ENOENT) {
		facts->simulated = true;
		snprintf(facts->profile, sizeof(facts->profile), "%s", simulation.profile);
		snprintf(facts->simulated_kernel, sizeof(facts->simulated_kernel), "%s",
			 simulation.kernel);
	}
	if (uname(&name) == 0)
		snprintf(facts->release, sizeof(facts->release), "%s", name.release);
	collect_driver(facts);
	collect_device(facts);
	collect_nodes(facts);
	if (!facts->more_nodes)
		collect_cards(facts);
	doctor_collect_rights(facts);
	doctor_collect_shim(facts);
	doctor_collect_daemon(facts, socket, &status);
	collect_policies(facts, status);
	doctor_collect_processes(facts, status);
	json_decref(status);
	return 0;
}
