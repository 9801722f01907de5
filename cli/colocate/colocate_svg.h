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

#endif
