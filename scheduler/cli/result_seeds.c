// SPDX-License-Identifier: MIT
/* One figure from those of several seeds. */
#include <math.h>
#include <stddef.h>

#include "scheduler/cli/result.h"

/* Where a figure lies in struct arm_figures. */
#define AT(member) offsetof(struct arm_figures, member)

static double figure(const struct colocation *run, unsigned seed, enum arm arm, size_t at)
{
	return *(const double *)((const char *)&run->by_seed[seed][arm] + at);
}

static void set(struct colocation *run, enum arm arm, size_t at, double value)
{
	*(double *)((char *)&run->arms[arm] + at) = value;
}

double result_median(double *values, unsigned count)
{
	unsigned n = 0;

	for (unsigned i = 0; i < count; i++)
		if (!isnan(values[i]))
			values[n++] = values[i];
	if (n == 0)
		return NAN;
	values_sort(values, n);
	return n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

static double median(const struct colocation *run, enum arm arm, size_t at)
{
	double all[RESULT_SEEDS_MAX];

	for (unsigned seed = 0; seed < run->seeds; seed++)
		all[seed] = figure(run, seed, arm, at);
	return result_median(all, run->seeds);
}

static double sum(const struct colocation *run, enum arm arm, size_t at)
{
	double total = 0;

	for (unsigned seed = 0; seed < run->seeds; seed++)
		total += figure(run, seed, arm, at);
	return total;
}

static struct range range(const struct colocation *run, enum arm arm, size_t at)
{
	struct range range = {NAN, NAN};

	for (unsigned seed = 0; seed < run->seeds; seed++) {
		range.low = fmin(range.low, figure(run, seed, arm, at));
		range.high = fmax(range.high, figure(run, seed, arm, at));
	}
	return range;
}

static void count(struct colocation *run, enum arm arm)
{
	struct arm_figures *all = &run->arms[arm];

	all->ran = all->online.keeps_up = true;
	for (unsigned seed = 0; seed < run->seeds; seed++) {
		const struct arm_figures *one = &run->by_seed[seed][arm];

		all->ran &= one->ran;
		all->online.keeps_up &= one->online.keeps_up;
		all->online.requests += one->online.requests;
		all->suspends += one->suspends;
		all->resumes += one->resumes;
		hist_add_all(&all->save, &one->save);
		hist_add_all(&all->restore, &one->restore);
	}
}

static void find_spread(struct colocation *run, enum arm arm)
{
	struct spread *spread = &run->spread[arm];
	double alone = run->arms[ARM_ALONE].offline.steps;

	spread->p50_us = range(run, arm, AT(online.p50_us));
	spread->p90_us = range(run, arm, AT(online.p90_us));
	spread->p99_us = range(run, arm, AT(online.p99_us));
	spread->p999_us = range(run, arm, AT(online.p999_us));
	spread->steps = range(run, arm, AT(offline.steps));
	spread->of_alone =
		run->arms[ARM_ALONE].ran && alone > 0
			? (struct range){spread->steps.low / alone, spread->steps.high / alone}
			: (struct range){NAN, NAN};
}

void result_combine(struct colocation *run)
{
	static const size_t medians[] = {AT(online.p50_us), AT(online.p90_us), AT(online.p99_us),
					 AT(online.p999_us)};
	static const size_t means[] = {AT(online.gpu_busy_ratio), AT(online.gpu_us),
				       AT(offline.steps), AT(offline.gpu_busy_ratio)};
	static const size_t sums[] = {AT(suspend_delay_us), AT(resume_delay_us), AT(time.all_us)};

	for (unsigned arm = 0; arm < ARM_COUNT; arm++) {
		run->arms[arm] = (struct arm_figures){0};
		count(run, (enum arm)arm);
		for (unsigned i = 0; i < sizeof(medians) / sizeof(medians[0]); i++)
			set(run, (enum arm)arm, medians[i], median(run, (enum arm)arm, medians[i]));
		for (unsigned i = 0; i < sizeof(means) / sizeof(means[0]); i++)
			set(run, (enum arm)arm, means[i],
			    sum(run, (enum arm)arm, means[i]) / run->seeds);
		for (unsigned i = 0; i < sizeof(sums) / sizeof(sums[0]); i++)
			set(run, (enum arm)arm, sums[i], sum(run, (enum arm)arm, sums[i]));
		for (unsigned i = 0; i < TIME_SHARES; i++)
			set(run, (enum arm)arm, AT(time.us[i]),
			    sum(run, (enum arm)arm, AT(time.us[i])));
	}
	for (unsigned arm = 0; arm < ARM_COUNT; arm++)
		find_spread(run, (enum arm)arm);
}
