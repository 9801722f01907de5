/* SPDX-License-Identifier: MIT */
/*
 * An event of the daemon (docs/formats.md, kfdsched events) as a sentence. Threads: any;
 * no state. Control characters of names become '?'.
 */
#ifndef KFDSHIM_CLI_EVENT_TEXT_H
#define KFDSHIM_CLI_EVENT_TEXT_H

#include <jansson.h>

#define EVENT_TEXT 1024 /* room for one; longer ones are cut */

/* Returns `text`. */
const char *event_text(char text[static EVENT_TEXT], json_t *event);
/* "18:20:01.123456", local time; "-" for what has none. Returns `text`. */
#define EVENT_TIME 32
const char *event_time(char text[static EVENT_TIME], const json_t *event);

#endif
