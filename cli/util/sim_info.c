// SPDX-License-Identifier: MIT
#include "cli/util/sim_info.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/json_util.h"

/* Reads the values of the file into *out. Returns 0, or -EINVAL if a key is missing or a value is
 * out of range. */
static int decode(json_t *root, struct simulation *out)
{
	const char *profile, *kernel = "";
	json_t *doorbell, *save, *restore;
	json_int_t updates, update_ns;
	int simulated, is_virtual = 0;

	if (json_unpack(root, "{s:b,s:s,s?s,s:F,s?b,s:{s:F},s:o,s:I,s:I,s:o,s:o}", "simulated",
			&simulated, "profile", &profile, "kernel", &kernel, "time_scale",
			&out->time_scale, "virtual", &is_virtual, "costs", "bounce_us",
			&out->update_us, "doorbell_delay_ns", &doorbell, "bounces", &updates,
			"bounce_ns", &update_ns, "save_ns", &save, "restore_ns", &restore))
		return -EINVAL;
	if (!simulated || out->time_scale <= 0 || out->update_us < 0 || updates < 0 ||
	    update_ns < 0 || strlen(profile) >= sizeof(out->profile))
		return -EINVAL;
	strcpy(out->profile, profile);
	snprintf(out->kernel, sizeof(out->kernel), "%s", kernel);
	out->is_virtual = is_virtual;
	out->updates = (uint64_t)updates;
	out->update_ns = (uint64_t)update_ns;
	if (hist_from_json(doorbell, &out->doorbell) || hist_from_json(save, &out->save) ||
	    hist_from_json(restore, &out->restore))
		return -EINVAL;
	return 0;
}

int simulation_read(const char *path, struct simulation *out)
{
	FILE *file = fopen(path, "re");

	if (!file)
		return -errno;
	json_t *root = json_loadf(file, 0, NULL);
	int rc = root ? decode(root, out) : -EINVAL;

	json_decref(root);
	fclose(file);
	return rc;
}

void simulation_subtract(struct simulation *later, const struct simulation *earlier)
{
	hist_subtract(&later->doorbell, &earlier->doorbell);
	hist_subtract(&later->save, &earlier->save);
	hist_subtract(&later->restore, &earlier->restore);
	later->updates -= earlier->updates;
	later->update_ns -= earlier->update_ns;
}
