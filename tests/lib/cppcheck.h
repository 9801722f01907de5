/* SPDX-License-Identifier: MIT */
/* Included by cppcheck (lint.sh) in place of <jansson.h>, which it does not read. Macros with
 * several parameters must not be given by -D: version 2.10 then checks nothing, and says
 * nothing. */
#define json_object_foreach(object, key, value)                                                    \
	for ((key) = json_object_iter_key(object), (value) = json_object_get(object, key); (value);)
#define json_array_foreach(array, index, value)                                                    \
	for ((index) = 0; ((value) = json_array_get(array, index)) != 0; (index)++)
/* In place of those of <sys/queue.h>. */
#define LIST_HEAD(name, type)                                                                      \
	struct name {                                                                              \
		struct type *lh_first;                                                             \
	}
#define LIST_ENTRY(type)                                                                           \
	struct {                                                                                   \
		struct type *le_next;                                                              \
	}
#define LIST_FOREACH(entry, head, field)                                                           \
	for ((entry) = (head)->lh_first; (entry); (entry) = (entry)->field.le_next)
#define STAILQ_HEAD(name, type)                                                                    \
	struct name {                                                                              \
		struct type *stqh_first;                                                           \
	}
#define STAILQ_ENTRY(type)                                                                         \
	struct {                                                                                   \
		struct type *stqe_next;                                                            \
	}
#define STAILQ_FOREACH(entry, head, field)                                                         \
	for ((entry) = (head)->stqh_first; (entry); (entry) = (entry)->field.stqe_next)
#define TAILQ_HEAD(name, type)                                                                     \
	struct name {                                                                              \
		struct type *tqh_first;                                                            \
	}
#define TAILQ_ENTRY(type)                                                                          \
	struct {                                                                                   \
		struct type *tqe_next;                                                             \
	}
#define TAILQ_FOREACH(entry, head, field)                                                          \
	for ((entry) = (head)->tqh_first; (entry); (entry) = (entry)->field.tqe_next)
