// SPDX-License-Identifier: MIT
/*
 * Proves that GPUs are named by index, PCI address, render node, marketing name and partition, as
 * sysfs and libdrm's list have them, and that a word names one GPU or none.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
/* clang-format off: cmocka wants some of the above first */
#include <cmocka.h>
/* clang-format on */

#include "kfd/gpu_name.h"

#define NODES "/sys/class/kfd/kfd/topology/nodes"
#define DEVICES "/sys/bus/pci/devices"

static char root[] = "/tmp/kfdshim-gpus-XXXXXX";

/* Creates a file below `root`, with its directories. */
static void put(const char *path, const char *text)
{
	char whole[512];
	FILE *file;

	snprintf(whole, sizeof(whole), "%s%s", root, path);
	for (char *c = whole + strlen(root) + 1; (c = strchr(c, '/')) != NULL; c++) {
		*c = '\0';
		mkdir(whole, 0700);
		*c = '/';
	}
	file = fopen(whole, "we");
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

/* Creates a node of the topology. */
static void node(unsigned number, unsigned gpu_id, unsigned location, unsigned minor)
{
	char path[128], text[256];

	snprintf(path, sizeof(path), NODES "/%u/gpu_id", number);
	snprintf(text, sizeof(text), "%u\n", gpu_id);
	put(path, text);
	snprintf(path, sizeof(path), NODES "/%u/properties", number);
	snprintf(text, sizeof(text),
		 "simd_count 4\nlocation_id %u\ndomain 0\ndrm_render_minor %u\n", location, minor);
	put(path, text);
}

static int make_machine(void **state)
{
	(void)state;
	assert_non_null(mkdtemp(root));
	put("/usr/share/libdrm/amdgpu.ids",
	    "# a list\n1.0.0\n740F,\t01,\tanother\n740F,\t02,\tAMD Instinct MI210\n");
	node(0, 0, 0, 0); /* a CPU node */
	node(1, 4711, 0x4300, 128);
	put(DEVICES "/0000:43:00.0/vendor", "0x1002\n");
	put(DEVICES "/0000:43:00.0/device", "0x740f\n");
	put(DEVICES "/0000:43:00.0/revision", "0x02\n");
	/* Two partitions of one device: amdgpu numbers them in the function of the PCI address. */
	put(DEVICES "/0000:c1:00.0/vendor", "0x1002\n");
	put(DEVICES "/0000:c1:00.0/product_name", "AMD Instinct MI300X OAM\n");
	put(DEVICES "/0000:c1:00.0/current_compute_partition", "CPX\n");
	node(2, 51, 0xc100, 129);
	node(3, 52, 0xc101, 130);
	node(10, 1, 0x0300, 131); /* behind nodes 4 to 9, which a device cgroup hides */
	return 0;
}

static int remove_machine(void **state)
{
	char command[64];

	(void)state;
	snprintf(command, sizeof(command), "rm -r %s", root);
	return system(command);
}

static void names(void **state)
{
	char text[GPU_NAME_LONG];
	struct gpu_name gpus[8];

	(void)state;
	assert_int_equal(gpu_names_read(root, gpus, 8), 4);
	assert_int_equal(gpus[0].gpu_id, 4711);
	assert_string_equal(gpu_name_long(text, &gpus[0]),
			    "AMD Instinct MI210, 0000:43:00.0, renderD128, gpu_id 4711");
	assert_string_equal(gpu_name_long(text, &gpus[2]),
			    "AMD Instinct MI300X OAM, 0000:c1:00.0, CPX partition 1 of 2, "
			    "renderD130, gpu_id 52");
	assert_string_equal(gpu_name_long(text, &gpus[3]), "0000:03:00.0, renderD131, gpu_id 1");
	assert_string_equal(gpu_name_short(text, &gpus[3], 1), "3");
	assert_string_equal(gpu_name_short(text, NULL, 99), "[99]");
}

static void words(void **state)
{
	static const struct {
		const char *word;
		uint32_t gpu_id;
	} cases[] = {
		{"4711", 4711},
		{"0", 4711},
		{"gpu0", 4711},
		{"GPU2", 52},
		{"2", 52},
		{"1", 1}, /* a gpu_id takes precedence over an index */
		{"gpu1", 51},
		{"0000:43:00.0", 4711},
		{"43:00.0", 4711},
		{"renderD130", 52},
		{"/dev/dri/renderD131", 1},
		{"C1:00.0", 0}, /* ambiguous: two partitions */
		{"4", 0},
		{"gpu", 0},
		{"renderD1", 0},
		{"", 0},
		{"strict", 0},
	};
	struct gpu_name gpus[8];
	size_t n = gpu_names_read(root, gpus, 8);

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		if (gpu_name_find(gpus, n, cases[i].word) != cases[i].gpu_id)
			fail_msg("'%s' is %u", cases[i].word,
				 gpu_name_find(gpus, n, cases[i].word));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names),
		cmocka_unit_test(words),
	};

	return cmocka_run_group_tests(tests, make_machine, remove_machine);
}
