// SPDX-License-Identifier: MIT
#include "common/gaps.h"

#define FIRST_NS 8192u			   /* upper end of the first bucket */
#define LONGEST_NS UINT64_C(3600000000000) /* an hour */
#define KNOWN 4u			   /* fewest gaps from which a hold-over is calculated */
#define COST_SHIFT 3			   /* weight of a new duration: 1/8 */
#define MISSED_MAX 64u /* number of missed gaps in a row after which costs are halved */
/* Number of gaps after which all counts are halved. A gap that occurs once in fifty stays known,
 * and a change of the gaps shows within this number of gaps. */
#define MOST 128u

/* Returns the lower end of a bucket, in ns. */
static uint64_t begin_of(uint32_t bucket)
{
	uint64_t octave;

	if (bucket == 0)
		return 0;
	octave = (uint64_t)FIRST_NS << ((bucket - 1) / 2);
	return bucket % 2 ? octave : octave * 181 / 128; /* the square root of 2 */
}

static uint32_t bucket_of(uint64_t ns)
{
	uint32_t bucket;

	if (ns < FIRST_NS)
		return 0;
	bucket = 2 * (63u - (uint32_t)__builtin_clzll(ns / FIRST_NS)) + 1;
	bucket += ns >= begin_of(bucket + 1);
	return bucket < GAPS_BUCKETS ? bucket : GAPS_BUCKETS - 1;
}

static void forget_half(struct gaps *gaps)
{
	gaps->total = 0;
	gaps->known = 0;
	for (uint32_t i = 0; i < GAPS_BUCKETS; i++) {
		gaps->counts[i] /= 2;
		gaps->total += gaps->counts[i];
		gaps->known |= (uint64_t)(gaps->counts[i] > 0) << i;
	}
}

static uint64_t at_most(uint64_t ns, uint64_t most)
{
	return ns < most ? ns : most;
}

void gaps_learn(struct gaps *gaps, uint64_t gap_ns)
{
	uint64_t ns = at_most(gap_ns, LONGEST_NS);
	uint32_t at = bucket_of(ns);
	int64_t off = (int64_t)ns - (int64_t)gaps->means_ns[at];

	gaps->counts[at]++;
	gaps->means_ns[at] += (uint64_t)(off / (int64_t)gaps->counts[at]);
	gaps->known |= UINT64_C(1) << at;
	if (++gaps->total == MOST)
		forget_half(gaps);
}

void gaps_cost_learn(uint64_t *cost_ns, uint64_t duration_ns)
{
	if (*cost_ns)
		*cost_ns += (duration_ns >> COST_SHIFT) - (*cost_ns >> COST_SHIFT);
	else
		*cost_ns = duration_ns;
}

void gaps_missed(struct gaps *gaps, bool missed, uint64_t *suspend_ns, uint64_t *resume_ns)
{
	gaps->missed = missed ? gaps->missed + 1 : 0;
	if (gaps->missed < MISSED_MAX)
		return;
	gaps->missed = 0;
	*suspend_ns -= *suspend_ns / 2;
	*resume_ns -= *resume_ns / 2;
}

/* Returns what is gained, in ns, if the gang (processes held together) is released when `left_ns`
 * of the gap are left: the time for which it runs, less the costs. Can be negative. */
static int64_t gain(uint64_t left_ns, const struct gaps_costs *costs)
{
	int64_t ran = (int64_t)left_ns - (int64_t)costs->resume_ns;
	int64_t late = (int64_t)costs->suspend_ns + (ran < 0 ? -ran : 0);

	return (ran > 0 ? ran : 0) - (int64_t)costs->others_ns - (int64_t)costs->weight * late;
}

/* Returns the sum of gain() over all gaps in the buckets whose bits are set in `buckets`, if the
 * gang is released hold_ns after the begin of a gap. */
static int64_t gain_of(const struct gaps *gaps, uint64_t buckets, uint64_t hold_ns,
		       const struct gaps_costs *costs)
{
	int64_t sum = 0;

	for (; buckets; buckets &= buckets - 1) {
		uint32_t at = (uint32_t)__builtin_ctzll(buckets);

		sum += gaps->counts[at] * gain(gaps->means_ns[at] - hold_ns, costs);
	}
	return sum;
}

/* Returns the hold-over with the highest expected gain (gaps.h). Tries only the upper ends of
 * buckets with gaps, because a longer hold-over is better only if it outlasts one more bucket. */
uint64_t gaps_hold_ns(const struct gaps *gaps, const struct gaps_costs *real)
{
	const struct gaps_costs costs = {
		.resume_ns = at_most(real->resume_ns, LONGEST_NS),
		.suspend_ns = at_most(real->suspend_ns, LONGEST_NS),
		.others_ns = at_most(real->others_ns, LONGEST_NS),
		.weight = real->weight,
	};
	uint64_t most = costs.resume_ns + costs.others_ns + costs.weight * costs.suspend_ns;
	uint64_t longer = gaps->total < KNOWN ? 0 : gaps->known, hold_ns = 0, best_at = most;
	int64_t best = 0, sum;

	while (longer) {
		sum = gain_of(gaps, longer, hold_ns, &costs);
		if (sum > best) {
			best = sum;
			best_at = hold_ns;
		}
		if (hold_ns == most)
			break;
		hold_ns = at_most(begin_of((uint32_t)__builtin_ctzll(longer) + 1), most);
		longer &= longer - 1;
	}
	return best_at;
}
