/* SPDX-License-Identifier: MIT */
/* Formats quantities for output on a terminal. Pure. Threads: any. */
#ifndef KFDSHIM_COMMON_QUANTITY_H
#define KFDSHIM_COMMON_QUANTITY_H

#define QUANTITY_BYTES 32 /* size of a buffer for a formatted quantity */

/* Formats a time in us with three digits and a fitting unit: "909 us", "2.48 ms", "1.20 s"; "-" for
 * NAN. Returns `text`. */
const char *quantity_us(char text[QUANTITY_BYTES], double us);
/* Formats a size in its largest whole unit, such as "64 KiB" or "100 B". Returns `text`. */
const char *quantity_bytes(char text[QUANTITY_BYTES], unsigned long long bytes);

#endif
