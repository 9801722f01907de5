/* SPDX-License-Identifier: MIT */
/*
 * Statistics of a backlog: how many packets waited in an AQL queue, or in several together, in
 * each sample of a series.
 *
 * The values are kept in their order of size. If there are more than BACKLOG_SAMPLES, every second one
 * is dropped and from then on only every second sample is kept, and so on; the median is then that
 * of the samples that are left. The other figures count every sample.
 *
 * Pure: no clock, no I/O. Threads: one at a time. Ownership: the caller zeroes a struct backlog
 * before its first use and ends it with backlog_free(). Where a pointer to a backlog is const, NULL
 * is allowed and means one without samples.
 */
#ifndef KFDSHIM_CLI_RECORD_BACKLOG_H
#define KFDSHIM_CLI_RECORD_BACKLOG_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#define BACKLOG_SAMPLES 1024u

struct backlog {
	size_t samples;	    /* samples in which the backlog was known */
	size_t waiting;	    /* part of `samples` with at least one packet */
	uint64_t max;	    /* packets */
	uint64_t *recorded; /* packets, ascending; owned */
	size_t count, room;
	size_t every; /* one of so many samples is kept; 0: no sample yet */
};

/* Adds a sample in which `packets` waited. Returns 0, or -ENOMEM with the sample counted but not
 * kept for the median. */
int backlog_add(struct backlog *backlog, uint64_t packets);
void backlog_free(struct backlog *backlog);

/* Returns true if the backlog was known in a sample. */
bool backlog_known(const struct backlog *backlog);
/* Returns the share of the samples in which a packet waited, 0 to 1; 0 without samples. */
double backlog_share(const struct backlog *backlog);
/* Returns the median in packets, of an even number of samples the mean of the middle two; 0
 * without samples. */
double backlog_median(const struct backlog *backlog);
/* Compares two backlogs by their median, then by the share of samples with a packet, then by their
 * maximum. Returns a number below 0 if `a` is the smaller one, 0 if they are equal, else one above
 * 0. */
int backlog_compare(const struct backlog *a, const struct backlog *b);
/* Returns {"samples", "waiting_ratio", "median_packets", "max_packets"}
 * (docs/reference/recordings.md, kfdsched compare --json), or null if the backlog was not known in
 * any sample. */
json_t *backlog_json(const struct backlog *backlog);

#endif
