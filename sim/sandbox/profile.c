// SPDX-License-Identifier: MIT
#include <errno.h>
#include <ini.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sim/sandbox/profile.h"
#include "sim/sandbox/say.h"

/* Embeds a profile's file as it is, followed by a NUL. */
#define EMBED(symbol, file)                                                                        \
	__asm__(".pushsection .rodata\n" #symbol ": .incbin \"" PROFILE_DIR "/" file               \
		"\"\n.byte 0\n.popsection\n");                                                     \
	extern const char symbol[]

EMBED(profile_text_mi210, "mi210.ini");
EMBED(profile_text_mi300x, "mi300x.ini");
EMBED(profile_text_mi308x, "mi308x.ini");
EMBED(profile_text_mi100, "mi100.ini");

static const struct {
	const char *name;
	const char *text;
	bool cpx;
} profiles[] = {
	{"mi210", profile_text_mi210, false},	   {"mi300x", profile_text_mi300x, false},
	{"mi308x", profile_text_mi308x, false},	   {"mi100", profile_text_mi100, false},
	{"mi300x-cpx", profile_text_mi300x, true}, {"mi308x-cpx", profile_text_mi308x, true},
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* A key of a profile: where its value is stored, and the values that are allowed. */
struct profile_key {
	const char *name;
	size_t offset, size;
	bool real; /* the value is a double; otherwise uint32_t or uint64_t */
	double min, max;
	/* Allowed words instead of a number; the value is the index of the word. */
	const char *words[3];
};

#define KEY(field, ...)                                                                            \
	{                                                                                          \
		.name = #field, .offset = offsetof(struct profile, field),                         \
		.size = sizeof(((struct profile *)0)->field), __VA_ARGS__                          \
	}
#define WHOLE(field, low, high) KEY(field, .min = (low), .max = (high)),
#define LARGE WHOLE
#define REAL(field, low, high) KEY(field, .real = true, .min = (low), .max = (high)),
#define WORDS(field, ...) KEY(field, .words = {__VA_ARGS__}),
#define U32 4294967295.0
#define U64 18446744073709551615.0

static const struct profile_key keys[] = {
#include "sim/host/profile_keys.def"
};

/* Returns the key with this name, or NULL. */
static const struct profile_key *find_key(const char *name)
{
	for (size_t i = 0; i < COUNT(keys); i++) {
		if (!strcmp(keys[i].name, name))
			return &keys[i];
	}
	return NULL;
}

static int store_word(uint32_t *field, const struct profile_key *key, const char *text)
{
	for (uint32_t i = 0; i < COUNT(key->words) && key->words[i]; i++)
		if (!strcmp(key->words[i], text)) {
			*field = i;
			return 0;
		}
	return -EINVAL;
}

/* Stores the value of a key. Returns 0, -EINVAL (not a number of this kind, or not an allowed word)
 * or -ERANGE (outside of the key's range). */
static int store(struct profile *profile, const struct profile_key *key, const char *text)
{
	char *end;
	void *field = (char *)profile + key->offset;

	if (key->words[0])
		return store_word(field, key, text);
	errno = 0;
	if (key->real) {
		double value = strtod(text, &end);

		if (end == text || *end || errno || !isfinite(value))
			return -EINVAL;
		if (value < key->min || value > key->max)
			return -ERANGE;
		memcpy(field, &value, sizeof(value));
	} else {
		uint64_t value;

		/* strtoull() accepts "-1" and returns a very large number. */
		if (text[strspn(text, "0123456789abcdefxABCDEFX")])
			return -EINVAL;
		value = strtoull(text, &end, 0);
		if (end == text || *end || errno)
			return -EINVAL;
		if ((double)value < key->min || (double)value > key->max)
			return -ERANGE;
		memcpy(field, &value, key->size); /* x86 stores the low half first */
	}
	return 0;
}

/* The state of reading one file: which keys have been set. */
struct profile_reading {
	struct profile *profile;
	bool seen[COUNT(keys)];
};

/* Handles one line of the file. Returns 1, or 0 if the key is unknown or set twice, or the value is
 * not allowed; inih then reports the line. */
static int on_line(void *user, const char *section, const char *name, const char *value)
{
	struct profile_reading *reading = user;
	struct profile *profile = reading->profile;
	const struct profile_key *key = find_key(name);

	(void)section; /* sections are for readers only */
	if (!strcmp(name, "asic") && !profile->asic[0] && value[0] &&
	    strlen(value) < sizeof(profile->asic)) {
		strcpy(profile->asic, value);
		return 1;
	}
	if (!key || reading->seen[key - keys])
		return 0;
	reading->seen[key - keys] = true;
	return store(profile, key, value) == 0;
}

void profile_load(const char *name, struct profile *out)
{
	struct profile_reading reading = {.profile = out};
	char known[256] = "";
	const char *text = NULL;
	bool cpx = false;
	int line;

	for (size_t i = 0; i < COUNT(profiles); i++) {
		if (!strcmp(profiles[i].name, name)) {
			text = profiles[i].text;
			cpx = profiles[i].cpx;
		}
		snprintf(known + strlen(known), sizeof(known) - strlen(known), "%s%s",
			 i ? ", " : "", profiles[i].name);
	}
	if (!text)
		die(STATUS_USAGE, "there is no GPU profile '%s'; known: %s", name, known);

	memset(out, 0, sizeof(*out));
	snprintf(out->name, sizeof(out->name), "%s", name);
	line = ini_parse_string(text, on_line, &reading);
	if (line)
		die(STATUS_FAILED,
		    "line %d of the profile %s is not a known key with a value it may "
		    "have: correct the file and build again",
		    line, name);
	for (size_t i = 0; i < COUNT(keys); i++) {
		if (!reading.seen[i])
			die(STATUS_FAILED, "the profile %s lacks %s: add it and build again", name,
			    keys[i].name);
	}
	out->partitions = cpx ? out->num_xcc : 1;
	profile_check(out);
}

const char *profile_name(size_t index)
{
	return index < COUNT(profiles) ? profiles[index].name : NULL;
}

/* Writes the names of all keys, for error messages. */
static void list_keys(char *out, size_t size)
{
	size_t used = 0;

	for (size_t i = 0; i < COUNT(keys) && used < size; i++)
		used += (size_t)snprintf(out + used, size - used, "%s%s", i ? ", " : "",
					 keys[i].name);
}

void profile_set(struct profile *profile, const char *assignment)
{
	const char *equals = strchr(assignment, '=');
	const struct profile_key *key;
	char name[64] = "";
	char known[2048];
	int rc;

	if (!equals || equals == assignment || (size_t)(equals - assignment) >= sizeof(name))
		die(STATUS_USAGE, "--set takes KEY=VALUE, such as bounce_us=200, not '%s'",
		    assignment);
	memcpy(name, assignment, (size_t)(equals - assignment));
	key = find_key(name);
	if (!key) {
		list_keys(known, sizeof(known));
		die(STATUS_USAGE, "--set: there is no key '%s'; known: %s", name, known);
	}
	rc = store(profile, key, equals + 1);
	if (rc == -ERANGE)
		die(STATUS_USAGE, "--set: %s must be from %.15g to %.15g, not %s", name, key->min,
		    key->max, equals + 1);
	if (rc && key->words[0])
		die(STATUS_USAGE, "--set: %s must be %s or %s, not '%s'", name, key->words[0],
		    key->words[1], equals + 1);
	if (rc)
		die(STATUS_USAGE, "--set: %s must be %s, not '%s'", name,
		    key->real ? "a number" : "a whole number", equals + 1);
}

void profile_check(const struct profile *p)
{
	const char *fault =
		p->simd_count % p->simd_per_cu ? "simd_count must be a multiple of simd_per_cu"
		: p->simd_count / p->simd_per_cu > p->array_count * p->cu_per_simd_array
			? "simd_count makes more compute units than array_count x cu_per_simd_array "
			  "can hold"
		: p->array_count % p->simd_arrays_per_engine
			? "array_count must be a multiple of simd_arrays_per_engine"
		: p->simd_count % (p->simd_per_cu * p->num_xcc) || p->array_count % p->num_xcc
			? "simd_count and array_count must divide among num_xcc XCCs"
		: p->partitions > 1 && p->partitions != p->num_xcc
			? "in mode CPX, num_xcc cannot be changed"
		: p->cwsr_size && p->cwsr_size <= p->ctl_stack_size
			? "cwsr_size must be 0 or larger than ctl_stack_size"
			: NULL;

	if (fault)
		die(STATUS_USAGE, "%s", fault);
}

/* Divides the SDMA engines among the partitions. The driver (kfd_device.c) uses the first two
 * engines of a partition for all copies and the rest, if any, for copies to peers. */
static void share_sdma(struct profile *p, uint32_t partitions)
{
	uint32_t all = (p->num_sdma_engines + p->num_sdma_xgmi_engines) / partitions;

	p->num_sdma_engines = all < 2 ? 1 : 2;
	p->num_sdma_xgmi_engines = all < 2 ? 0 : all - 2;
}

/* Number of VMIDs of a partition in mode CPX. */
#define VMIDS_CPX 6u

struct profile profile_node(const struct profile *profile)
{
	struct profile p = *profile;
	uint32_t n = p.partitions;

	if (n == 1)
		return p;
	p.simd_count /= n;
	p.array_count /= n;
	p.num_xcc /= n;
	share_sdma(&p, n);
	p.vram_bytes /= n;
	p.l3_size_in_kb /= n;
	p.save_gb_per_s /= (double)n;
	p.restore_gb_per_s /= (double)n;
	p.blit_gb_per_s /= (double)n;
	/* The driver (kfd_device.c) gives each partition six VMIDs. */
	if (p.vmids > VMIDS_CPX)
		p.vmids = VMIDS_CPX;
	return p;
}

void profile_to_sim(const struct profile *whole, struct sim_config *out)
{
	const struct profile *p = &out->node;
	uint32_t cus = whole->simd_count / whole->partitions / whole->simd_per_cu;
	uint32_t wave_slots = whole->max_waves_per_simd * whole->simd_per_cu;
	uint64_t update_ns = us_ns(whole->bounce_us);

	out->node = profile_node(whole);
	out->gpu = (struct gpu_config){
		.xccs = p->num_xcc,
		.cus = cus,
		.wave_slots_per_cu = wave_slots,
		.packet_ns = us_ns(p->packet_us),
		.unmap_ns = update_ns / 2,
		.map_ns = update_ns - update_ns / 2,
		/* The save area of an XCC has room for all of its waves; this is the
		 * share of one wave. */
		.save_bytes_unit = p->cwsr_size ? (uint64_t)(p->cwsr_size - p->ctl_stack_size) *
							  p->num_xcc / (cus * wave_slots)
						: 0,
		.save_bytes_us = gb_bytes_us(p->save_gb_per_s),
		.restore_bytes_us = gb_bytes_us(p->restore_gb_per_s),
		.sdma_engines = p->num_sdma_engines,
		.xgmi_engines = p->num_sdma_xgmi_engines,
		.engine_bytes_us = gb_bytes_us(p->sdma_gb_per_s),
		.link_bytes_us = {[GPU_LINK_HOST] = gb_bytes_us(p->host_gb_per_s),
				  [GPU_LINK_LOCAL] = gb_bytes_us(p->blit_gb_per_s)},
		.vmids = p->vmids,
		.cp_queues = p->num_cp_queues,
		.process_quantum_ns = us_ns(p->process_quantum_ms * 1000.0),
		.queue_quantum_ns = us_ns(p->queue_quantum_ms * 1000.0),
		.switch_ns = us_ns(p->switch_us),
		.first_suspend_ns = us_ns(p->first_suspend_us),
	};
	for (uint32_t i = GPU_LINK_PEER(0); i < GPU_LINKS_MAX; i++)
		out->gpu.link_bytes_us[i] = gb_bytes_us(p->peer_gb_per_s);
}

/* ---- the machine ---- */

#define FIRST_BUS 0x03u /* first PCI bus that is tried */
#define LAST_BUS 0xffu
#define CAP_PER_QUEUE_RESET (1u << 31)
#define CAP_DEBUG (1u << 15)

/* Returns true if the host has no device in the first slot of the PCI bus. */
static bool bus_free(unsigned bus)
{
	char path[64];

	snprintf(path, sizeof(path), "/sys/bus/pci/devices/0000:%02x:00.0", bus);
	return access(path, F_OK) && errno == ENOENT;
}

/* Assigns to each GPU a PCI bus whose first slot is free on the host, so that no device of the host
 * is hidden. */
static void place_gpus(struct machine *m)
{
	unsigned bus = FIRST_BUS;

	for (unsigned i = 0; i < m->n_gpus; i++, bus++) {
		while (bus <= LAST_BUS && !bus_free(bus))
			bus++;
		if (bus > LAST_BUS)
			die(STATUS_IMPOSSIBLE,
			    "the host has too few PCI buses without a device in their "
			    "first slot for %u GPUs",
			    m->n_gpus);
		m->gpus[i].bus = bus;
	}
}

/* Continues a CRC-16 with the polynomial 0x8005, reflected, like the kernel's crc16(). */
static uint16_t crc16(uint16_t crc, const uint8_t *bytes, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		crc ^= bytes[i];
		for (int bit = 0; bit < 8; bit++)
			crc = crc & 1 ? (uint16_t)(crc >> 1 ^ 0xa001) : (uint16_t)(crc >> 1);
	}
	return crc;
}

static bool gpu_id_used(const struct machine *m, unsigned n, uint32_t gpu_id)
{
	for (unsigned i = 0; i < n; i++) {
		if (m->nodes[i].gpu_id == gpu_id)
			return true;
	}
	return false;
}

/* Computes the gpu_id as the driver does (kfd_generate_gpu_id()): a CRC of the PCI identity, the
 * node's memory and its XCCs, incremented while it is 0 or in use. */
static uint32_t make_gpu_id(const struct machine *m, unsigned n)
{
	const struct machine_node *node = &m->nodes[n];
	const struct profile *p = &m->node_profile;
	uint32_t first_xcc = node->partition * p->num_xcc;
	const uint32_t identity[8] = {
		0, /* device and function */
		VENDOR_AMD | p->device_id << 16,
		0, /* domain */
		p->device_id,
		m->gpus[node->gpu].bus,
		(uint32_t)p->vram_bytes,
		(uint32_t)(p->vram_bytes >> 32),
		first_xcc | p->num_xcc << 16,
	};
	uint16_t id = crc16(0, (const uint8_t *)identity, sizeof(identity));

	while (!id || gpu_id_used(m, n, id))
		id++;
	return id;
}

void machine_new(struct machine *m, const struct profile *profile, unsigned n_gpus,
		 enum kfdabi_kernel kernel)
{
	*m = (struct machine){.profile = profile, .kernel = kernel, .n_gpus = n_gpus};
	m->node_profile = profile_node(profile);
	place_gpus(m);
	for (unsigned i = 0; i < n_gpus; i++) {
		m->gpus[i].unique_id = profile->unique_id + i;
		m->gpus[i].hive_id =
			profile->hive_id ? profile->hive_id + i / profile->hive_gpus : 0;
		for (unsigned part = 0; part < profile->partitions; part++) {
			unsigned n = m->n_nodes;
			struct machine_node *node = &m->nodes[n];

			node->gpu = i;
			node->partition = part;
			node->gpu_id = make_gpu_id(m, n);
			/* All partitions have the GPU's address; bits 31:28 are the partition. */
			node->location = m->gpus[i].bus << 8 | part << 28;
			m->n_nodes++;
		}
	}
}

uint32_t machine_capability(const struct machine *machine)
{
	const struct profile *p = &machine->node_profile;

	if (machine->broken_rule == RULE_topology_gpu_can_be_debugged)
		return p->capability & ~CAP_DEBUG;
	/* Linux 7.3 announces the reset of single queues, for gfx942 and later. */
	if (machine->kernel == KFDABI_LINUX_7_3 && p->gfx_target_version >= GFX942)
		return p->capability | CAP_PER_QUEUE_RESET;
	return p->capability;
}
