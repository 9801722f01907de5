/* SPDX-License-Identifier: MIT */
/*
 * Draws the result of a colocate run as self-contained SVG without scripts, legible on light and
 * dark backgrounds: online latency by arm on the left, offline throughput by arm on the right,
 * and below both how the GPU's time was spent. Threads: none.
 */
#ifndef KFDSHIM_CLI_COLOCATE_COLOCATE_SVG_H
#define KFDSHIM_CLI_COLOCATE_COLOCATE_SVG_H

#include "cli/colocate/result.h"

/* Writes the whole picture to `out`. The caller checks ferror(). */
void colocate_svg(const struct colocation *run, const struct result_verdict *verdict, FILE *out);

/*
 * Draws the lower panel, one bar for each arm, with its upper edge at y = `top` pixels. Draws
 * nothing if `out` is NULL, so that the caller can measure the panel's height first.
 * Returns y of the lower edge; `top` if the times are not known in any arm.
 */
double colocate_svg_times(FILE *out, const struct colocation *run, double top);
/* CSS classes of that panel for a light and for a dark background; timeN has the number N of
 * enum time_share, and TIME_SHARES for shares that are not known apart. */
#define COLOCATE_SVG_TIME_STYLE                                                                                \
	".time0{fill:#0e9384}.time1{fill:#7c8aa0}.time2{fill:#b42318}.time3{fill:#d97a1e}"                     \
	".time4{fill:#8e5bb5}.time5{fill:#b08a16}.time6{fill:#3f6fb0}.time7{fill:#c3cbd6}.time8{fill:#5d6b80}" \
	".intime{fill:#ffffff;font-size:12px;font-weight:600}"
#define COLOCATE_SVG_TIME_DARK                                                                                 \
	".time0{fill:#1fb5a3}.time1{fill:#8796ad}.time2{fill:#ff8a80}.time3{fill:#e58a32}"                     \
	".time4{fill:#b48ad6}.time5{fill:#d3ad3d}.time6{fill:#6f9fdd}.time7{fill:#465064}.time8{fill:#5d6b80}" \
	".intime{fill:#14110c}"

#endif
