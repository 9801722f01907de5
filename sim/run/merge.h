/* SPDX-License-Identifier: MIT */
/*
 * Two folders as one, without overlayfs, which user namespaces do not get for
 * sysfs and which would hide later changes of the lower tree.
 */
#ifndef KFDSHIM_SIM_RUN_MERGE_H
#define KFDSHIM_SIM_RUN_MERGE_H

/*
 * Makes every entry of the folder `real` that `fake` does not have visible in
 * `fake`: folders and files by recursive bind mounts, symbolic links by links
 * of the same text. Goes down where both have the folder, but not into the
 * fake folders named in `opaque` (a NULL-terminated list of paths). Entries
 * that are gone meanwhile or that the caller may not see are left out.
 * Returns an exit status, having said why (say.h).
 */
int merge(const char *real, const char *fake, const char *const *opaque);

#endif
