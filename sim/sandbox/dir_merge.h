/* SPDX-License-Identifier: MIT */
/*
 * Shows two directories as one, without overlayfs: user namespaces cannot use overlayfs for sysfs,
 * and it would hide later changes of the lower tree.
 */
#ifndef KFDSHIM_SIM_SANDBOX_DIR_MERGE_H
#define KFDSHIM_SIM_SANDBOX_DIR_MERGE_H

/*
 * Makes every entry of the directory `real` visible in the directory `fake`, unless `fake` has an
 * entry of that name: directories and files by recursive bind mounts, symbolic links by links with
 * the same text. If both have a directory of that name, its entries are merged, except for the
 * directories of `fake` that are listed in `opaque` (a NULL-terminated list of paths). Entries that
 * have disappeared in the meantime or that the caller cannot access are left out.
 */
void merge(const char *real, const char *fake, const char *const *opaque);

#endif
