/* SPDX-License-Identifier: MIT */
/*
 * Formats an event of the daemon (docs/reference/events.md, kfdsched events) as a sentence. Control
 * characters in names become '?'. GPUs are shown by the names that they have on this machine
 * (gpus.h).
 * Threads: none.
 */
#ifndef KFDSHIM_CLI_UTIL_EVENT_TEXT_H
#define KFDSHIM_CLI_UTIL_EVENT_TEXT_H

#include <jansson.h>

#define EVENT_TEXT 1024 /* bytes for one sentence; longer ones are cut */

/* Writes the event as a sentence into `text` and returns it. An event of an unknown kind, from a
 * newer daemon, is written as its keys and values. */
const char *event_text(char text[static EVENT_TEXT], json_t *event);
#define EVENT_TIME 32
/* Writes the event's time as local time, "18:20:01.123456", into `text` and returns it; "-" if
 * the event has no time. */
const char *event_time(char text[static EVENT_TIME], const json_t *event);

#endif
