// SPDX-License-Identifier: MIT
/* kfdsched monitor: samples the queues of a process repeatedly and reports whether they change. */
#include "scheduler/cli/monitor.h"

#include <stdio.h>
#include <string.h>

#include "scheduler/cli/options.h"
#include "scheduler/cli/stop.h"
#include "scheduler/observe/observe.h"

#define FOR_MAX_US (7 * 86400e6)
#define INTERVAL_MIN_US 100.0
#define INTERVAL_MAX_US 86400e6
#define TRAP_MIN_US 100e3 /* shortest interval of source trap: each sample interrupts the GPUs */

static int run(int argc, char **argv)
{
	static const char *const names[] = {"auto", "trap", "sysfs", "debugfs", NULL};
	static const unsigned sources[] = {
		0,
		OBSERVE_BIT(OBSERVE_TRAP),
		OBSERVE_BIT(OBSERVE_SYSFS),
		OBSERVE_BIT(OBSERVE_MQD),
	};
	struct monitor_options wanted = {.interval_us = 5e6};
	double for_us = 30e6;
	unsigned source = 0;
	const struct verb_option options[] = {
		{OPTION_SECONDS("seconds", &for_us, 0, FOR_MAX_US, "seconds, at most a week")},
		{OPTION_SECONDS("interval", &wanted.interval_us, INTERVAL_MIN_US, INTERVAL_MAX_US,
				"seconds, or a time such as 1ms, of 100us to a day")},
		{OPTION_CHOICE("source", &source, names)},
		{OPTION_NAME("record", &wanted.record, PATH_MAX, "a folder")},
		{OPTION_JSON(&wanted.json)},
		{OPTION_SOCKET(&wanted.socket)},
		{WORD_PID(&wanted.pid)},
		{0},
	};
	int code = options_read(&verb_monitor, argc, argv, options);

	if (code != CLI_GO_ON)
		return code;
	wanted.seconds = for_us / 1e6;
	wanted.sources = sources[source];
	if (wanted.sources == OBSERVE_BIT(OBSERVE_TRAP)) {
		if (wanted.interval_us < TRAP_MIN_US)
			return cli_usage(&verb_monitor,
					 "--source trap opens a debug session for each sample: "
					 "--interval is 100ms or longer");
		cli_warn_session(&verb_monitor, wanted.pid);
		fprintf(stderr,
			"kfdsched monitor: each sample opens one: it interrupts the GPUs of "
			"that process for a moment, and no other debugger can attach "
			"meanwhile\n");
	}
	code = stop_begin();
	if (code)
		return cli_failed(&verb_monitor, "cannot listen for signals: %s", strerror(-code));
	return monitor_process(&verb_monitor, &wanted);
}

const struct verb verb_monitor = {
	.name = "monitor",
	.summary = "the queues of a process over time, and whether their ids stay",
	.usage = "PID [--seconds 30] [--interval 5] [--source auto|trap|sysfs|debugfs] "
		 "[--record DIR] [--json]",
	.help = "Looks at the queues of PID again and again and prints a line for each sample, with what\n"
		"has changed since the one before; then how many there were, whether they stayed, in\n"
		"which share of the samples each id was there, and what that means for whoever suspends\n"
		"them. Ctrl-C ends it early, with what there is.\n"
		"\n"
		"  --seconds 30       for so long; also a time with its unit, such as 500ms\n"
		"  --interval 5       a sample each so many seconds, or a time such as 1ms. Samples without\n"
		"                     a change are printed ten times a second at most; all count\n"
		"  --source auto      whom to ask: auto takes the daemon, what the shim writes, sysfs and\n"
		"                     debugfs, the first that knows, and below 100ms sysfs where it\n"
		"                     can. trap opens a debug session for each sample, which interrupts\n"
		"                     the GPUs for a moment; on a real GPU a busy runtime has died of\n"
		"                     opening a debug session. debugfs names no ids and wants root\n"
		"  --record DIR       keeps each sample in a new folder, with the raw text of debugfs\n"
		"                     (MQDs and HQDs) where it can be read: kfdsched analyze DIR\n"
		"  --json             one object at the end; docs/reference/recordings.md names the keys\n"
		"  --socket PATH      where the daemon listens; without it KFDSHIM_SOCKET, or\n"
		"                     /run/kfdsched/socket\n"
		"\n"
		"Examples:\n"
		"  kfdsched monitor 4711 --seconds 60\n"
		"  kfdsched monitor 4711 --interval 1ms --seconds 5 --source sysfs --json\n",
	.run = run,
};
