// SPDX-License-Identifier: MIT
#include "common/quantity.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

const char *quantity_us(char text[QUANTITY_BYTES], double us)
{
	static const char *const suffixes[] = {"us", "ms", "s"};
	unsigned suffix = 0;

	if (isnan(us)) {
		strcpy(text, "-");
		return text;
	}
	/* From 999.5 on the rounded number would be 1000, so use the next unit. */
	while (suffix < 2 && us >= 999.5) {
		us /= 1000;
		suffix++;
	}
	int decimals = us >= 99.95 || us == 0 ? 0 : us >= 9.995 ? 1 : 2;

	snprintf(text, QUANTITY_BYTES, "%.*f %s", decimals, us, suffixes[suffix]);
	return text;
}

const char *quantity_bytes(char text[QUANTITY_BYTES], unsigned long long bytes)
{
	static const char *const suffixes[] = {"B", "KiB", "MiB", "GiB"};
	unsigned suffix = 0;

	while (suffix < 3 && bytes >= 1024 && bytes % 1024 == 0) {
		bytes /= 1024;
		suffix++;
	}
	snprintf(text, QUANTITY_BYTES, "%llu %s", bytes, suffixes[suffix]);
	return text;
}
