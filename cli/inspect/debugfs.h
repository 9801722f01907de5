/* SPDX-License-Identifier: MIT */
/*
 * Parsers for the texts of debugfs kfd/mqds and kfd/hqds.
 *
 * The formats are those of kfd_debugfs_mqds_by_process, pqm_debugfs_mqds,
 * kfd_debugfs_hqds_by_device and dqm_debugfs_hqds in Linux 5.0 to 7.x (before 6.5 the slots had no
 * XCC number).
 * The meaning of the words is that of struct v9_mqd and v9_sdma_mqd, and of the register dumps of
 * amdgpu_amdkfd_gfx_v9.c. So values are reported for gfx9 only (gfx900 to gfx950). For other
 * generations only the existence of a queue is reported, with its GPU and engine.
 *
 * Errors of all functions:
 * -EBADMSG     the text is not in the driver's format or ends early; `why` names the line
 * -EOPNOTSUPP  the text has a GPU of another generation
 * After -EBADMSG and -EOPNOTSUPP the list has the entries that could be read.
 *
 * Pure. Threads: any, one at a time for each list.
 */
#ifndef KFDSHIM_CLI_INSPECT_DEBUGFS_H
#define KFDSHIM_CLI_INSPECT_DEBUGFS_H

#include <sys/types.h>

#include "cli/inspect/observation.h"
#include "kfd/topology.h"

struct debugfs_copy {
	const char *at; /* text; it needs no NUL at its end */
	size_t bytes;
	const struct topology_gpu *gpus; /* GPUs of the machine that wrote the text */
	size_t n_gpus;
};

/*
 * Adds the queues of one process from the text of kfd/mqds, without ids, in the order of the text
 * (newest first).
 *
 * pid: of the process, in the pid namespace that the driver uses. OBSERVE_MQDS is the number of
 * MQDs: one for each XCC if it is a compute queue; 1 if it is an SDMA queue, even if the driver
 * dumps its MQD several times. The read and write pointers in an MQD are not reported, because they
 * are from the last unmap of the queue. The priority is reported if the driver writes it, that is
 * before Linux 7.2.
 *
 * Returns 0, the errors above, or -ENOENT if the process is not in the text.
 */
int debugfs_mqds(const struct debugfs_copy *text, pid_t pid, struct observe_list *out,
		 char why[static OBSERVE_WHY]);

/*
 * Adds an entry for each ring that is active in a slot of kfd/hqds, except that of the driver's own
 * queue (HIQ). OBSERVE_HQDS is the number of slots in which the ring is active. The doorbell is
 * reported, too, because it distinguishes rings of two processes that have the same address. Read
 * and write pointers are not reported: those of a slot are of one XCC only and may be cut to the
 * size of the ring. Only the memory of the process has the real ones.
 *
 * Returns 0 or the errors above.
 */
int debugfs_hqds(const struct debugfs_copy *text, struct observe_list *out,
		 char why[static OBSERVE_WHY]);

#endif
