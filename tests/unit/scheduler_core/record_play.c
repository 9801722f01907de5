// SPDX-License-Identifier: MIT
/*
 * record_play FILE... | --version: plays recordings of kfdschedd --record (recording.h) and prints
 * for each what it has played, or the first difference.
 *
 * Exit code: 0 if all decisions are the same, 1 if a decision differs, 2 if a file is not a
 * recording.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/version.h"
#include "tests/unit/scheduler_core/recording.h"

static enum recording_result play(const char *path)
{
	struct recording_counts counts;
	enum recording_result result;
	char problem[512];
	FILE *in = fopen(path, "re");

	if (!in) {
		fprintf(stderr, "%s: %s\n", path, strerror(errno));
		return RECORDING_BAD;
	}
	result = recording_play(in, path, &counts, problem, sizeof(problem));
	fclose(in);
	if (result != RECORDING_SAME)
		fprintf(stderr, "%s\n", problem);
	else
		printf("%s: %" PRIu64 " workers, %" PRIu64 " calls, of which %" PRIu64
		       " decisions, %" PRIu64 " actions: as recorded\n",
		       path, counts.workers, counts.calls, counts.decisions, counts.actions);
	return result;
}

int main(int argc, char **argv)
{
	enum recording_result worst = RECORDING_SAME;

	if (version_print(argc, argv, "record_play"))
		return 0;
	if (argc < 2 || argv[1][0] == '-') {
		fprintf(stderr, "record_play: %s; usage: record_play FILE... | --version\n",
			argc < 2 ? "no recording" : "unknown option");
		return 2;
	}
	for (int i = 1; i < argc; i++) {
		enum recording_result result = play(argv[i]);

		if (result > worst)
			worst = result;
	}
	return (int)worst;
}
