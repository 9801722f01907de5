// SPDX-License-Identifier: MIT
/* The topology in sysfs (the driver's kfd_topology.c). */
#include <unistd.h>

#include "tools/kfdconform/checks.h"

#define CAP_DEBUG (1u << 15) /* HSA_CAP_TRAP_DEBUG_SUPPORT */

void check_topology_cpu_has_no_gpu_id(void)
{
	uint64_t id;
	unsigned node = 0;

	for (; !harness_node_number(node, "gpu_id", NULL, &id); node++)
		CHECK((harness_property(node, "simd_count") != 0) == (id != 0));
	CHECK(node > 0);
}

void check_topology_gpu_names_its_render_node(void)
{
	struct gpu_shape shape;
	char path[64];

	for (unsigned nth = 0; !harness_shape(nth, &shape); nth++) {
		snprintf(path, sizeof path, "/dev/dri/renderD%u", shape.render_minor);
		CHECK(!access(path, F_OK));
	}
}

void check_topology_gpu_can_be_debugged(void)
{
	struct gpu_shape shape;

	for (unsigned nth = 0; !harness_shape(nth, &shape); nth++)
		CHECK(harness_property(shape.node, "capability") & CAP_DEBUG);
}
