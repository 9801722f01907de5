// SPDX-License-Identifier: MIT
/* Preloaded into kfdschedd: delays the start of each worker by 2 s, at the call that raises its
 * limit of open files. */
#include <dlfcn.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "common/own_names.h"

__attribute__((visibility("default"))) int setrlimit(__rlimit_resource_t resource,
						     const struct rlimit *limit)
{
	int (*next)(__rlimit_resource_t, const struct rlimit *) =
		(int (*)(__rlimit_resource_t, const struct rlimit *))dlsym(RTLD_NEXT, "setrlimit");
	char name[16] = "";

	prctl(PR_GET_NAME, name);
	if (resource == RLIMIT_NOFILE && strcmp(name, NAME_WORKER) == 0)
		sleep(2);
	return next(resource, limit);
}
