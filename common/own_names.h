/* SPDX-License-Identifier: MIT */
/*
 * What the processes of kfdsched and kfdschedd are called (/proc/PID/comm). They have /dev/kfd
 * open and no work on a GPU, so the command lists them nowhere as users of one. The daemon takes
 * the names from here, so that a process of its own cannot be missing in the list.
 */
#ifndef KFDSHIM_COMMON_OWN_NAMES_H
#define KFDSHIM_COMMON_OWN_NAMES_H

#define NAME_COMMAND "kfdsched"
#define NAME_DAEMON "kfdschedd"
#define NAME_WORKER "kfdschedd-work"
#define NAME_DOOR "kfdschedd-door"
#define NAME_HTTP "kfdschedd-http"
#define NAME_READER "kfdschedd-read"
#define NAME_RECORD "kfdschedd-rec"
#define NAME_EXECUTOR "kfdschedd-exec"
#define NAME_CONFIG "kfdschedd-conf"
#define NAME_LOG "kfdschedd-log"

#define OWN_NAMES                                                                                  \
	NAME_COMMAND, NAME_DAEMON, NAME_WORKER, NAME_DOOR, NAME_HTTP, NAME_READER, NAME_RECORD,    \
		NAME_EXECUTOR, NAME_CONFIG, NAME_LOG

#endif
