/* SPDX-License-Identifier: MIT */
/*
 * A colocate run as a picture: online latency by arm on the left, offline
 * throughput by arm on the right. Self-contained SVG without scripts, legible
 * on light and on dark ground. Threads: none.
 */
#ifndef KFDSHIM_CLI_COLOCATE_SVG_H
#define KFDSHIM_CLI_COLOCATE_SVG_H

#include "scheduler/cli/result.h"

void colocate_svg(const struct colocation *run, const struct verdict *verdict, FILE *out);

#endif
