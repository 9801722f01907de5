/* SPDX-License-Identifier: MIT */
/* How quantities are written for people. Pure. Threads: any. */
#ifndef KFDSHIM_COMMON_QUANTITY_H
#define KFDSHIM_COMMON_QUANTITY_H

#define QUANTITY_BYTES 32

/* A time with three figures and the unit that suits it: "909 us", "2.48 ms",
 * "1.20 s"; "-" for NAN. Returns `text`. */
const char *quantity_us(char text[QUANTITY_BYTES], double us);
/* "64 KiB" where it divides, otherwise "100 B". */
const char *quantity_bytes(char text[QUANTITY_BYTES], unsigned long long bytes);

#endif
