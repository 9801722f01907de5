// SPDX-License-Identifier: MIT
#include "cli/colocate/result.h"

#include <errno.h>

static const char *const part_keys[TIME_PARTS] = {
	[PART_RUN] = "run",	    [PART_UPDATE] = "bounce",	      [PART_SAVE] = "save",
	[PART_RESTORE] = "restore", [PART_HELD_READY] = "held_ready", [PART_HELD] = "held",
	[PART_IDLE] = "idle",
};

/* ---- counters ---- */

/* Adds the value of a key to *ns. Returns 0 or -EINVAL. */
static int read_ns(const json_t *object, const char *key, uint64_t *ns)
{
	const json_t *value = json_object_get(object, key);

	if (!json_is_integer(value) || json_integer_value(value) < 0)
		return -EINVAL;
	*ns += (uint64_t)json_integer_value(value);
	return 0;
}

/* Adds the time of an entry in a GPU's list of processes if its pid is in `pids`. Returns 0 or
 * -EINVAL. */
static int read_process(const json_t *process, const pid_t *pids, unsigned n, struct time_gpu *out)
{
	json_int_t pid = json_integer_value(json_object_get(process, "pid"));

	for (unsigned i = 0; i < n; i++)
		if (pids[i] == pid) {
			out->processes++;
			return read_ns(process, n > 1 ? "run_share_ns" : "run_ns",
				       &out->process_ns);
		}
	return 0;
}

static int read_gpu(const json_t *gpu, const pid_t *pids, unsigned n, struct time_gpu *out)
{
	const json_t *times = json_object_get(gpu, "time_ns");
	const json_t *processes = json_object_get(gpu, "processes"), *process;
	int rc = json_is_array(processes) ? 0 : -EINVAL;
	size_t i;

	*out = (struct time_gpu){0};
	if (json_is_null(processes)) { /* more processes than the file lists */
		out->process_unknown = true;
		rc = 0;
	}
	for (unsigned part = 0; !rc && part < TIME_PARTS; part++)
		rc = read_ns(times, part_keys[part], &out->ns[part]);
	/* simulation.json has an entry for each KFD context of a process. */
	json_array_foreach(processes, i, process) if (!rc) rc = read_process(process, pids, n, out);
	return rc;
}

int time_read(const char *path, const pid_t *pids, unsigned n, struct time_reading *out)
{
	FILE *file = fopen(path, "re");
	json_t *root, *gpus, *gpu;
	size_t i;
	int rc;

	out->n_gpus = 0;
	if (!file)
		return -errno;
	root = json_loadf(file, 0, NULL);
	fclose(file);
	gpus = json_object_get(root, "gpus");
	rc = json_array_size(gpus) > 0 && json_array_size(gpus) <= TIME_GPUS ? 0 : -EINVAL;
	json_array_foreach(gpus, i, gpu) if (!rc) rc = read_gpu(gpu, pids, n, &out->gpus[i]);
	if (!rc)
		out->n_gpus = (unsigned)json_array_size(gpus);
	json_decref(root);
	return rc;
}

/* ---- shares ---- */

struct result_time time_unknown(void)
{
	struct result_time time = {.all_us = NAN};

	for (unsigned i = 0; i < TIME_SHARES; i++)
		time.us[i] = NAN;
	return time;
}

void time_forget(struct result_time *time, unsigned shares)
{
	for (unsigned i = 0; i < TIME_SHARES; i++)
		if (shares & 1u << i)
			time->us[i] = NAN;
}

/* Returns the index of the GPU that was idle for the shortest time between the readings. */
static unsigned busiest(const struct time_reading *earlier, const struct time_reading *later)
{
	unsigned best = 0;

	for (unsigned i = 1; i < later->n_gpus; i++)
		if (later->gpus[i].ns[PART_IDLE] - earlier->gpus[i].ns[PART_IDLE] <
		    later->gpus[best].ns[PART_IDLE] - earlier->gpus[best].ns[PART_IDLE])
			best = i;
	return best;
}

/* Divides the GPU's time into shares. The daemon's counter and those of the GPU are not read at the
 * same instant, and other work can arrive during a hold-over. The hold-over is therefore limited to
 * the time in which offline was suspended and no other work was there. */
static void share_out(const double us[TIME_PARTS], double process_us, double held_over_us,
		      struct result_time *out)
{
	double offline = isnan(process_us) ? NAN : fmin(process_us, us[PART_RUN]);
	double over = fmin(held_over_us, us[PART_HELD]);

	*out = (struct result_time){.us = {
					    [TIME_OFFLINE] = offline,
					    [TIME_ONLINE] = us[PART_RUN] - offline,
					    [TIME_UPDATES] = us[PART_UPDATE],
					    [TIME_SAVE_RESTORE] = us[PART_SAVE] + us[PART_RESTORE],
					    [TIME_DETECTION] = us[PART_HELD] - over,
					    [TIME_HOLD_OVER] = over,
					    [TIME_IDLE_HELD] = us[PART_HELD_READY],
					    [TIME_OWN_GAPS] = us[PART_IDLE],
				    }};
	for (unsigned i = 0; i < TIME_PARTS; i++)
		out->all_us += us[i];
}

void time_between(const struct time_reading *earlier, const struct time_reading *later,
		  double time_scale, struct result_time *out)
{
	double held_over_us = (later->held_over_us - earlier->held_over_us) * time_scale;
	const struct time_gpu *from, *to;
	double us[TIME_PARTS];
	bool unknown;
	unsigned i;

	*out = time_unknown();
	if (!later->n_gpus || later->n_gpus != earlier->n_gpus) {
		out->us[TIME_HOLD_OVER] = held_over_us;
		out->all_us = (double)(later->wall_ns - earlier->wall_ns) / 1e3 * time_scale;
		return;
	}
	i = busiest(earlier, later);
	from = &earlier->gpus[i];
	to = &later->gpus[i];
	unknown = from->process_unknown || to->process_unknown;
	/* If a process has ended, or the daemon reported no hold-over, all shares stay unknown. */
	if (isnan(held_over_us) ||
	    (!unknown && (to->process_ns < from->process_ns || to->processes < from->processes)))
		return;
	for (unsigned part = 0; part < TIME_PARTS; part++)
		us[part] = (double)(to->ns[part] - from->ns[part]) / 1e3;
	share_out(us, unknown ? NAN : (double)(to->process_ns - from->process_ns) / 1e3,
		  held_over_us, out);
}

/* ---- output ---- */

double time_percent(const struct result_time *time, enum time_share share)
{
	return time->all_us > 0 ? 100 * time->us[share] / time->all_us : NAN;
}

json_t *time_json(const struct result_time *time)
{
	struct time_percents row;

	for (enum time_share i = 0; i < TIME_SHARES; i++)
		row.of[i] = time_percent(time, i);
	return render_json(fields_colocate_time, &row);
}
