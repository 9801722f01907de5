// SPDX-License-Identifier: MIT
#include "sim/sandbox/profile.h"

#include <errno.h>
#include <ini.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
	size_t offset;
	bool real; /* the value is a double; otherwise uint64_t */
	double min, max;
	/* Allowed words instead of a number; the value is the index of the word. */
	const char *words[3];
};

#define KEY(field, ...)                                                                            \
	{                                                                                          \
		.name = #field, .offset = offsetof(struct profile, field), __VA_ARGS__             \
	}
#define WHOLE(field, low, high) KEY(field, .min = (low), .max = (high)),
#define REAL(field, low, high) KEY(field, .real = true, .min = (low), .max = (high)),
#define WORDS(field, ...) KEY(field, .words = {__VA_ARGS__}),
#define U32 4294967295.0
#define U64 18446744073709551615.0

static const struct profile_key keys[] = {
#include "sim/sandbox/profile_keys.def"
};

/* Returns NULL if there is no such key. */
static const struct profile_key *find_key(const char *name)
{
	for (size_t i = 0; i < COUNT(keys); i++) {
		if (!strcmp(keys[i].name, name))
			return &keys[i];
	}
	return NULL;
}

static int store_word(uint64_t *field, const struct profile_key *key, const char *text)
{
	for (uint64_t i = 0; i < COUNT(key->words) && key->words[i]; i++)
		if (!strcmp(key->words[i], text)) {
			*field = i;
			return 0;
		}
	return -EINVAL;
}

/* Returns 0, -EINVAL (not a number of this kind, or not an allowed word) or -ERANGE (outside of
 * the key's range). */
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
		memcpy(field, &value, sizeof(value));
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
	out->partitions = cpx ? (uint32_t)out->num_xcc : 1;
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

/* 1 GB/s is 1000 bytes per microsecond. */
static uint64_t bytes_us(double gb_per_s)
{
	uint64_t value = (uint64_t)llround(gb_per_s * 1000.0);

	return value ? value : 1;
}

/* Of the SDMA engines of a partition, the driver (kfd_device.c) uses the first two for all copies
 * and the others, if any, for copies to peers. */
static void share_sdma(struct profile *p, uint64_t partitions)
{
	uint64_t all = (p->num_sdma_engines + p->num_sdma_xgmi_engines) / partitions;

	p->num_sdma_engines = all < 2 ? 1 : 2;
	p->num_sdma_xgmi_engines = all < 2 ? 0 : all - 2;
}

/* VMIDs of a partition in mode CPX. */
#define VMIDS_CPX 6u

struct profile profile_node(const struct profile *profile)
{
	struct profile p = *profile;
	uint64_t n = p.partitions;

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
	const struct profile part = profile_node(whole), *p = &part;
	uint64_t cus = p->simd_count / p->simd_per_cu;
	uint64_t wave_slots = p->max_waves_per_simd * p->simd_per_cu;
	uint64_t update_ns = (uint64_t)llround(p->bounce_us * 1000.0);

	out->profile = whole->name;
	out->chip = (struct sim_chip){
		.gfx_target_version = (uint32_t)p->gfx_target_version,
		.device_id = (uint32_t)p->device_id,
		.family = (uint32_t)p->family_id,
		.chip_rev = (uint32_t)p->chip_revision,
		.external_rev = (uint32_t)p->external_revision,
		.pci_rev = (uint32_t)p->pci_revision,
		.shader_engines =
			(uint32_t)(p->array_count / p->num_xcc / p->simd_arrays_per_engine),
		.shader_arrays = (uint32_t)p->simd_arrays_per_engine,
		.cu_per_array = (uint32_t)p->cu_per_simd_array,
		.engine_khz = (uint32_t)p->max_engine_clk_fcompute * 1000u,
		.memory_khz = (uint32_t)p->mem_clk_max * 1000u,
		.vram_bit_width = (uint32_t)p->mem_width,
		.cwsr_bytes = (uint32_t)p->cwsr_size,
		.ctl_stack_bytes = (uint32_t)p->ctl_stack_size,
		.cp_queues = (uint32_t)p->num_cp_queues,
		.sdma_queues_per_engine = (uint32_t)p->num_sdma_queues_per_engine,
		.num_gws = (uint32_t)p->num_gws,
		.simd_count = (uint32_t)p->simd_count,
		.max_waves_per_simd = (uint32_t)p->max_waves_per_simd,
		.array_count = (uint32_t)p->array_count,
		.capability = (uint32_t)p->capability,
		.fw_version = (uint32_t)p->fw_version,
		.debug_prop = p->debug_prop,
	};
	out->switches = (struct sim_switches){
		.unmatched_resume_unmaps = p->unmatched_resume_unmaps,
		.rptr_at_consumption = p->rptr_at_consumption,
		.new_queue_waits = p->new_queue_waits,
		.suspend_mask_keeps_new = p->suspend_mask_keeps_new,
		.destroy_suspended_fails = p->destroy_suspended_fails,
		.preempt_ns = (uint64_t)llround(p->preempt_us * 1000.0),
		.pin_ns = (uint64_t)llround(p->pin_us * 1000.0),
		.preempt_fails_at = p->preempt_fails_at,
		.preempt_stuck_queue = p->preempt_stuck,
		.unmap_latency_ns = p->unmap_latency_ms * 1000000u,
		.evict_at = p->evict_at,
		.preemption_timeout_ns = p->queue_preemption_timeout_ms * 1000000u,
		.reset_ns = p->gpu_reset_ms * 1000000u,
		.grace_default = (uint32_t)p->grace_default,
	};
	out->gpu = (struct gpu_config){
		.xccs = (uint32_t)p->num_xcc,
		.cus = (uint32_t)cus,
		.wave_slots_per_cu = (uint32_t)wave_slots,
		.packet_ns = (uint64_t)llround(p->packet_us * 1000.0),
		.unmap_ns = update_ns / 2,
		.map_ns = update_ns - update_ns / 2,
		/* The save area of an XCC has room for all of its waves; this is the
		 * share of one wave. */
		.save_bytes_unit = p->cwsr_size ? (p->cwsr_size - p->ctl_stack_size) * p->num_xcc /
							  (cus * wave_slots)
						: 0,
		.save_bytes_us = bytes_us(p->save_gb_per_s),
		.restore_bytes_us = bytes_us(p->restore_gb_per_s),
		.sdma_engines = (uint32_t)p->num_sdma_engines,
		.xgmi_engines = (uint32_t)p->num_sdma_xgmi_engines,
		.engine_bytes_us = bytes_us(p->sdma_gb_per_s),
		.link_bytes_us = {[GPU_LINK_HOST] = bytes_us(p->host_gb_per_s),
				  [GPU_LINK_LOCAL] = bytes_us(p->blit_gb_per_s)},
		.vmids = (uint32_t)p->vmids,
		.cp_queues = (uint32_t)p->num_cp_queues,
		.process_quantum_ns = (uint64_t)llround(p->process_quantum_ms * 1e6),
		.queue_quantum_ns = (uint64_t)llround(p->queue_quantum_ms * 1e6),
		.switch_ns = (uint64_t)llround(p->switch_us * 1000.0),
		.first_suspend_ns = (uint64_t)llround(p->first_suspend_us * 1000.0),
	};
	for (uint32_t i = GPU_LINK_PEER(0); i < GPU_LINKS_MAX; i++)
		out->gpu.link_bytes_us[i] = bytes_us(p->peer_gb_per_s);
	out->lds_bytes_per_cu = (uint32_t)p->lds_size_in_kb * 1024u;
	out->vram_bytes = p->vram_bytes;
	out->gtt_bytes = p->gtt_bytes;
	out->unknown_kernel_ns = (uint64_t)llround(p->unknown_kernel_us * 1000.0);
	out->blit_bytes_us = bytes_us(p->blit_gb_per_s);
	out->wake_ns = (uint64_t)llround(p->host_wake_us * 1000.0);
	out->ioctl_ns = (uint64_t)llround(p->host_ioctl_us * 1000.0);
	out->dispatch_ns = (uint64_t)llround(p->host_dispatch_us * 1000.0);
	out->enable_leaves_unmapped = p->enable_leaves_unmapped;
	out->sdma_packet_ns = (uint64_t)llround(p->sdma_packet_us * 1000.0);
}
