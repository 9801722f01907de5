/* SPDX-License-Identifier: MIT */
/* Arrays that grow. */
#ifndef KFDSHIM_COMMON_ARRAY_H
#define KFDSHIM_COMMON_ARRAY_H

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Grows the array, if necessary, so that at least `count` elements of `size` bytes fit; added
 * elements are zero. *room is the number of elements that fit, and is updated. Returns the array,
 * which may have moved; or NULL if memory is short, and then the array and *room are unchanged. */
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

/* Grows `array`, if necessary, so that at least `count` (above 0) elements fit. `room` is a
 * variable with the number of elements that fit. Updates both. Returns 0 or -ENOMEM. */
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
