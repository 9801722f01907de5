// SPDX-License-Identifier: MIT
#include "kfd/gpu_name.h"

#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "kfd/topology.h"

#define DEVICES "/sys/bus/pci/devices"
#define IDS "/usr/share/libdrm/amdgpu.ids"

/* Reads the first line of a file of the PCI device. `out` is empty if there is no such file. */
static void read_line(const char *root, const char *bdf, const char *name, char *out, size_t size)
{
	char path[PATH_MAX];
	FILE *file;

	snprintf(path, sizeof(path), "%s" DEVICES "/%s/%s", root, bdf, name);
	file = fopen(path, "re");
	out[0] = '\0';
	if (!file)
		return;
	if (!fgets(out, (int)size, file))
		out[0] = '\0';
	fclose(file);
	out[strcspn(out, "\n")] = '\0';
}

/* ---- marketing names ---- */

/* Copies the name in a line of amdgpu.ids, "DEVICE,\tREVISION,\tNAME" with both numbers in
 * hexadecimal. Returns false if the line is not that of this device. */
static bool read_id(const char *line, unsigned device, unsigned revision, char *out, size_t size)
{
	unsigned its_device, its_revision;
	int at = 0;

	if (sscanf(line, "%x, %x, %n", &its_device, &its_revision, &at) != 2 || !at ||
	    its_device != device || its_revision != revision)
		return false;
	snprintf(out, size, "%s", line + at);
	out[strcspn(out, "\r\n")] = '\0';
	return true;
}

static void read_product(const char *root, struct gpu_name *gpu)
{
	char device[16], revision[16], line[160], path[PATH_MAX];
	FILE *ids;

	/* Cards with a FRU memory have their product name in it, which the driver shows here. */
	read_line(root, gpu->bdf, "product_name", gpu->product, sizeof(gpu->product));
	if (gpu->product[0])
		return;
	read_line(root, gpu->bdf, "device", device, sizeof(device));
	read_line(root, gpu->bdf, "revision", revision, sizeof(revision));
	snprintf(path, sizeof(path), "%s" IDS, root);
	ids = device[0] ? fopen(path, "re") : NULL;
	while (ids && fgets(line, sizeof(line), ids))
		if (read_id(line, (unsigned)strtoul(device, NULL, 16),
			    (unsigned)strtoul(revision, NULL, 16), gpu->product,
			    sizeof(gpu->product)))
			break;
	if (ids)
		fclose(ids);
}

/* ---- reading ---- */

/* Reads the PCI device of a GPU. AMD's own driver stores the number of the partition in the
 * function bits of location_id. The PCI device itself has function 0, so function 0 is used if
 * there is no device with the function in location_id. */
static void read_device(const char *root, const struct topology_gpu *at, struct gpu_name *gpu)
{
	char text[8];

	snprintf(gpu->bdf, sizeof(gpu->bdf), "%04x:%02x:%02x.%u", at->domain & 0xffff,
		 at->location_id >> 8 & 0xff, at->location_id >> 3 & 0x1f, at->location_id & 7);
	read_line(root, gpu->bdf, "vendor", text, sizeof(text));
	if (!text[0])
		gpu->bdf[strlen(gpu->bdf) - 1] = '0';
	read_line(root, gpu->bdf, "current_compute_partition", gpu->mode, sizeof(gpu->mode));
	read_product(root, gpu);
}

static void number_partitions(struct gpu_name *names, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		names[i].index = (unsigned)i;
		for (size_t k = 0; k < n; k++) {
			if (strcmp(names[k].bdf, names[i].bdf) != 0)
				continue;
			names[i].partitions++;
			names[i].partition += k < i;
		}
	}
}

size_t gpu_names_read(const char *root, struct gpu_name *out, size_t max)
{
	struct topology_gpu gpus[TOPOLOGY_GPUS];
	size_t n = topology_gpus_below(root, gpus, max < TOPOLOGY_GPUS ? max : TOPOLOGY_GPUS);

	for (size_t i = 0; i < n; i++) {
		out[i] = (struct gpu_name){.gpu_id = gpus[i].gpu_id,
					   .render_minor = gpus[i].render_minor};
		read_device(root, &gpus[i], &out[i]);
	}
	number_partitions(out, n);
	return n;
}

/* ---- finding ---- */

const struct gpu_name *gpu_name_of(const struct gpu_name *names, size_t n, uint32_t gpu_id)
{
	for (size_t i = 0; i < n; i++)
		if (names[i].gpu_id == gpu_id)
			return &names[i];
	return NULL;
}

static bool is_number(const char *word, unsigned long *out)
{
	char *end;

	*out = strtoul(word, &end, 10);
	return isdigit((unsigned char)*word) && *end == '\0' && *out <= UINT32_MAX;
}

static bool is_called(const struct gpu_name *gpu, const char *word)
{
	const char *file = strrchr(word, '/') ? strrchr(word, '/') + 1 : word;
	char render[24];

	snprintf(render, sizeof(render), "renderD%u", gpu->render_minor);
	if (gpu->render_minor && strcmp(file, render) == 0)
		return true;
	return strcasecmp(word, gpu->bdf) == 0 ||
	       (strncmp(gpu->bdf, "0000:", 5) == 0 && strcasecmp(word, gpu->bdf + 5) == 0);
}

uint32_t gpu_name_find(const struct gpu_name *names, size_t n, const char *word)
{
	bool counts = strncasecmp(word, "gpu", 3) == 0;
	uint32_t found = 0;
	unsigned long number;

	if (is_number(counts ? word + 3 : word, &number)) {
		if (!counts && gpu_name_of(names, n, (uint32_t)number))
			return (uint32_t)number;
		return number < n ? names[number].gpu_id : 0;
	}
	for (size_t i = 0; i < n; i++) {
		if (!is_called(&names[i], word))
			continue;
		if (found)
			return 0;
		found = names[i].gpu_id;
	}
	return found;
}

/* ---- as text ---- */

const char *gpu_name_short(char text[static GPU_NAME_SHORT], const struct gpu_name *name,
			   uint32_t gpu_id)
{
	if (name)
		snprintf(text, GPU_NAME_SHORT, "%u", name->index);
	else
		snprintf(text, GPU_NAME_SHORT, "[%u]", gpu_id);
	return text;
}

const char *gpu_name_long(char text[static GPU_NAME_LONG], const struct gpu_name *name)
{
	char partition[48] = "", render[24] = "";

	if (name->mode[0] && name->partitions > 1)
		snprintf(partition, sizeof(partition), ", %s partition %u of %u", name->mode,
			 name->partition, name->partitions);
	else if (name->mode[0])
		snprintf(partition, sizeof(partition), ", %s", name->mode);
	if (name->render_minor)
		snprintf(render, sizeof(render), ", renderD%u", name->render_minor);
	snprintf(text, GPU_NAME_LONG, "%s%s%s%s%s, gpu_id %u", name->product,
		 name->product[0] ? ", " : "", name->bdf, partition, render, name->gpu_id);
	return text;
}
