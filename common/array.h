/* SPDX-License-Identifier: MIT */
/* Arrays that grow. */
#ifndef KFDSHIM_COMMON_ARRAY_H
#define KFDSHIM_COMMON_ARRAY_H

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Returns the array with room for at least `count` elements of this size, the added ones zero, and
 * sets *room; NULL if memory is short, and the array stays as it is. */
static inline void *array_with_room(void *array, size_t *room, size_t count, size_t size)
{
	size_t more = *room ? 2 * *room : 16;
	void *bigger;

	if (count <= *room)
		return array;
	if (more < count)
		more = count;
	bigger = reallocarray(array, more, size);
	if (!bigger)
		return NULL;
	memset((char *)bigger + *room * size, 0, (more - *room) * size);
	*room = more;
	return bigger;
}

/* Gives the array, of which `room` is the number of elements that it has room for, room for `count`
 * (above 0). Returns 0 or -ENOMEM. */
#define ARRAY_GROW(array, room, count)                                                             \
	({                                                                                         \
		size_t room_ = (room);                                                             \
		void *grown_ = array_with_room(array, &room_, count, sizeof *(array));             \
                                                                                                   \
		if (grown_) {                                                                      \
			(array) = grown_;                                                          \
			(room) = (__typeof__(room))room_;                                          \
		}                                                                                  \
		grown_ ? 0 : -ENOMEM;                                                              \
	})

#endif
