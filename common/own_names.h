/* SPDX-License-Identifier: MIT */
/*
 * Names of the processes of kfdsched and kfdschedd (/proc/PID/comm). These processes have /dev/kfd
 * open but no work on a GPU, so kfdsched does not list them as users of a GPU. The daemon names its
 * processes by these constants, so that the list misses none of them.
 */
#ifndef KFDSHIM_COMMON_OWN_NAMES_H
#define KFDSHIM_COMMON_OWN_NAMES_H

#define NAME_COMMAND "kfdsched"
#define NAME_DAEMON "kfdschedd"
#define NAME_WORKER "kfdschedd-work"
#define NAME_ADMISSION "kfdschedd-door"
#define NAME_HTTP "kfdschedd-http"
#define NAME_READER "kfdschedd-read"
#define NAME_RECORD "kfdschedd-rec"
#define NAME_EXECUTOR "kfdschedd-exec"
#define NAME_CONFIG "kfdschedd-conf"
#define NAME_LOG "kfdschedd-log"

/* All NAME_* constants, as the initializer of an array. */
#define OWN_NAMES                                                                                  \
	NAME_COMMAND, NAME_DAEMON, NAME_WORKER, NAME_ADMISSION, NAME_HTTP, NAME_READER,            \
		NAME_RECORD, NAME_EXECUTOR, NAME_CONFIG, NAME_LOG

#endif
