/* SPDX-License-Identifier: MIT */
/* A circular doubly linked list. The nodes are members of the linked objects, and the head is a
 * node without an object. A node that is on no list points at itself. Nothing is allocated, and the
 * caller provides any locking. */
#ifndef KFDSHIM_SIM_GPU_LIST_H
#define KFDSHIM_SIM_GPU_LIST_H

#include <stdbool.h>
#include <stddef.h>

struct list {
	struct list *next, *prev;
};

#define list_entry(node, type, member) ((type *)((char *)(node)-offsetof(type, member)))

static inline void list_init(struct list *head)
{
	head->next = head->prev = head;
}

static inline bool list_empty(const struct list *head)
{
	return head->next == head;
}

/* Inserts `node` before `at`; if `at` is the head of the list, at the end of the list. */
static inline void list_insert(struct list *at, struct list *node)
{
	node->prev = at->prev;
	node->next = at;
	at->prev->next = node;
	at->prev = node;
}

/* Removes the node from its list. Does nothing if the node is on no list. */
static inline void list_remove(struct list *node)
{
	node->prev->next = node->next;
	node->next->prev = node->prev;
	list_init(node);
}

/* Moves all nodes of `from`, in their order, to the front of `to`. `from` is empty afterwards. */
static inline void list_move_front(struct list *to, struct list *from)
{
	if (list_empty(from))
		return;
	from->prev->next = to->next;
	to->next->prev = from->prev;
	to->next = from->next;
	from->next->prev = to;
	list_init(from);
}

#endif
