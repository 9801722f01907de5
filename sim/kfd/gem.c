// SPDX-License-Identifier: MIT
/* What an open file of a render node holds by number. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sim/kfd/drm_file.h"

int number_take(struct numbered *numbered, void *thing)
{
	size_t i = 0;

	while (i < numbered->n && numbered->things[i])
		i++;
	if (i == numbered->n) {
		size_t n = numbered->n ? 2 * numbered->n : 16;
		void **more = realloc(numbered->things, n * sizeof *more);

		if (!more)
			return -ENOMEM;
		memset(more + numbered->n, 0, (n - numbered->n) * sizeof *more);
		numbered->things = more;
		numbered->n = n;
	}
	numbered->things[i] = thing;
	return (int)i + 1;
}

void *number_find(const struct numbered *numbered, uint64_t number)
{
	return number && number <= numbered->n ? numbered->things[number - 1] : NULL;
}

void *number_give(struct numbered *numbered, uint64_t number)
{
	void *thing = number_find(numbered, number);

	if (thing)
		numbered->things[number - 1] = NULL;
	return thing;
}

void gem_release(struct drm_file *file)
{
	for (uint64_t i = 1; i <= file->gems.n; i++)
		pages_unref(number_give(&file->gems, i));
	free(file->gems.things);
	file->gems = (struct numbered){0};
}
