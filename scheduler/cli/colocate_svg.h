/* SPDX-License-Identifier: MIT */
/*
 * A colocate run as a picture: online latency by arm on the left, offline
 * throughput by arm on the right, where the GPU's time went below. Self-contained SVG without scripts, legible
 * on light and on dark ground. Threads: none.
 */
#ifndef KFDSHIM_CLI_COLOCATE_SVG_H
#define KFDSHIM_CLI_COLOCATE_SVG_H

#include "scheduler/cli/result.h"

void colocate_svg(const struct colocation *run, const struct verdict *verdict, FILE *out);

/* The panel below, from `top` on; no arm: none. Draws nothing where `out` is NULL. Returns its
 * lower end. */
double colocate_svg_times(FILE *out, const struct colocation *run, double top);
/* Its classes, for light and for dark ground; timeN is of enum time_share. */
#define COLOCATE_SVG_TIME_STYLE                                                                    \
	".time0{fill:#0e9384}.time1{fill:#7c8aa0}.time2{fill:#b42318}.time3{fill:#d97a1e}"         \
	".time4{fill:#8e5bb5}.time5{fill:#b08a16}.time6{fill:#3f6fb0}.time7{fill:#c3cbd6}"         \
	".intime{fill:#ffffff;font-size:12px;font-weight:600}"
#define COLOCATE_SVG_TIME_DARK                                                                     \
	".time0{fill:#1fb5a3}.time1{fill:#8796ad}.time2{fill:#ff8a80}.time3{fill:#e58a32}"         \
	".time4{fill:#b48ad6}.time5{fill:#d3ad3d}.time6{fill:#6f9fdd}.time7{fill:#465064}"         \
	".intime{fill:#14110c}"

#endif
