// SPDX-License-Identifier: MIT
/* Preloaded into kfdschedd: delays the start of each worker by 2 s, at the call that creates its
 * signalfd. */
#include <dlfcn.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "common/own_names.h"

__attribute__((visibility("default"))) int signalfd(int fd, const sigset_t *mask, int flags)
{
	int (*next)(int, const sigset_t *, int) =
		(int (*)(int, const sigset_t *, int))dlsym(RTLD_NEXT, "signalfd");
	char name[16] = "";

	prctl(PR_GET_NAME, name);
	if (strcmp(name, NAME_WORKER) == 0)
		sleep(2);
	return next(fd, mask, flags);
}
