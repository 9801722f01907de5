// SPDX-License-Identifier: MIT
#include "tests/system/seeded/listener.h"

#include <string.h>

#include "tests/system/seeded/files.h"

#define WAITING 64

static struct file *waiting[WAITING];
static unsigned count;

void listener_begin(void)
{
	count = 0; /* the files of the previous run are gone */
}

int played_protocol_connect(const char *path)
{
	HARNESS;
	struct file *ends[2];

	(void)path;
	fiber_yield();
	if (count == WAITING)
		return -EAGAIN;
	file_pair(ends);
	waiting[count++] = ends[1];
	return file_open(fiber_process(), ends[0]);
}

bool played_protocol_is_served(const char *path)
{
	(void)path;
	return true;
}

static unsigned first_readable(void)
{
	unsigned i = 0;

	while (i < count && !file_readable(waiting[i]) && !file_hung_up(waiting[i]))
		i++;
	return i;
}

bool listener_any(void)
{
	return first_readable() < count;
}

struct file *listener_take(void *hello, size_t size)
{
	unsigned i = first_readable();
	struct file *file = waiting[i];
	struct packet *packet = file_receive(file);
	bool good = packet && packet->size == size;

	memmove(&waiting[i], &waiting[i + 1], (--count - i) * sizeof(waiting[0]));
	if (good)
		memcpy(hello, packet->bytes, size);
	if (packet)
		packet_free(packet);
	if (good)
		return file;
	file_drop(file);
	return NULL;
}
