/* SPDX-License-Identifier: MIT */
/*
 * What kfdsched doctor knows of a machine, a session and its processes: filled by
 * doctor_gather.c and its neighbours, judged by doctor_judge.c, made up by tests.
 *
 * What could not be found out stays unknown, and is never taken for "no": -1 in a
 * number, DOCTOR_UNKNOWN in a yes-or-no, "" in a text. doctor_facts_init() sets
 * all to unknown. Errors are positive errnos, 0: it worked, -1: not tried.
 * Threads: none. Ownership: doctor_facts_free() frees nodes and processes.
 */
#ifndef KFDSHIM_CLI_DOCTOR_FACTS_H
#define KFDSHIM_CLI_DOCTOR_FACTS_H

#include <jansson.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/nodes.h"

#define DOCTOR_NODES ((int)GPU_NODES_MAX) /* of a machine */

enum doctor_known { DOCTOR_UNKNOWN = -1, DOCTOR_NO = 0, DOCTOR_YES = 1 };

/* A KFD node with a GPU. */
struct doctor_node {
	uint32_t gpu_id;
	int64_t gfx_target_version; /* 90010 is gfx90a */
	int64_t capability;	    /* KFDABI_CAP_* */
	int64_t render_minor;
	int render_error;	/* of opening /dev/dri/renderD<minor> */
	int64_t queue_slots;	/* for compute queues (num_cp_queues) */
	int64_t compute_queues; /* of all processes */
	int64_t cwsr_size;	/* 0: the driver saves no waves; -1: older ones do not tell */
	int64_t vram_bytes, xccs;
	char partition[16]; /* SPX, CPX, ...; "": it has no modes, or is not told */
	char memory_partition[16];
	char policy[16]; /* of the daemon there */
};

/* A process that the daemon knows, or that has /dev/kfd open, or was asked for. */
struct doctor_process {
	int pid;
	char comm[16];
	enum doctor_known uses_gpu; /* it has a folder in kfd/proc */

	/* from the daemon; registered NO: it does not know it, or there is none */
	enum doctor_known registered;
	char level[16], reason[256], runtime[16];
	int64_t priority; /* 0 to 15; -1: it has none */
	bool outsider;	  /* without the shim, tagged by a rule or a command */
	unsigned drm_queues;
	char state[16]; /* "running", "suspended", ... */
	int64_t suspends, suspended_us;

	/* from /proc */
	enum doctor_known shim;	    /* libkfdshim.so is in its memory */
	enum doctor_known kfd_open; /* /dev/kfd is among its descriptors */
	enum doctor_known set_id, static_program, other_class;
	int64_t tracer; /* process that traces it, 0: none */
	int64_t tracer_parent;
	char tracer_name[16];
	char rocr[PATH_MAX]; /* file of its HSA runtime */
	enum doctor_known environment_read;
	char env_priority[64], env_level[64], env_socket[128];
	char preload[PATH_MAX];		 /* the libkfdshim.so of its LD_PRELOAD; "": none */
	enum doctor_known preload_there; /* such a file is there, as it sees files */
	bool env_disabled;		 /* KFDSHIM_DISABLE=1 */
	int64_t vram_limit;		 /* bytes a node; -1: none, or not known */
	size_t node_count;		 /* nodes where it has memory or queues */
	uint32_t gpu_ids[GPU_NODES_MAX]; /* of those */
};

struct doctor_daemon {
	char socket[128];
	int error; /* of asking; 0: it answered */
	int64_t answer_us;
	int64_t pid, worker_pid; /* as itself sees them */
	enum doctor_known here;	 /* that pid is a kfdschedd in our pid namespace */
	char version[32];
	int64_t uptime_us, failures, suspends;
	int64_t restarts;	      /* workers before this one, of the same daemon */
	int64_t refused_calls;	      /* that its own filter forbade it */
	int64_t room, refused;	      /* connections it can have, and has refused */
	int64_t elsewhere;	      /* its processes of other pid namespaces, not in the list */
	enum doctor_known sys_ptrace; /* its worker has CAP_SYS_PTRACE */
	int64_t open_files;	      /* its worker's limit */
	int64_t other_pid;	      /* a kfdschedd that is not the one that answered; 0: none */
};

struct doctor_facts {
	bool simulated;
	char profile[64], simulated_kernel[32];

	char release[65];
	enum doctor_known module; /* amdgpu is loaded, or built in */
	enum doctor_known out_of_tree;
	char driver_version[64];
	int64_t cwsr_enable, sched_policy; /* parameters of the module */
	int kfd_error;			   /* of opening /dev/kfd */
	int64_t kfd_group;		   /* gid of /dev/kfd, with its name */
	char kfd_group_name[32];
	int64_t kfd_major, kfd_minor;
	struct doctor_node *nodes;
	size_t node_count;
	bool more_nodes;	  /* than DOCTOR_NODES */
	unsigned forbidden_nodes; /* of others, as a container's device cgroup says */

	unsigned uid; /* effective */
	char user[32];
	enum doctor_known sys_ptrace; /* we have CAP_SYS_PTRACE */
	int64_t yama;		      /* ptrace_scope; -1: this kernel has no Yama */
	int ptrace_error;	      /* of letting ourselves be traced */
	enum doctor_known initial_pid_namespace;
	char hidepid[16]; /* "": /proc hides nothing */

	struct doctor_daemon daemon;

	char shim[PATH_MAX], agent[PATH_MAX]; /* "": not found */
	char preload_problem[256];	      /* what the dynamic linker says; "": it takes it */
	enum doctor_known preload_works;
	char agent_problem[256];
	enum doctor_known agent_works;
	char runtime_folder[PATH_MAX];
	char runtime_problem[128]; /* "": usable */
	bool runtime_taken;	   /* the problem is that another user has made it */
	int lane_error, eventfd_error;
	int64_t open_files;  /* our limit */
	char rocr[PATH_MAX]; /* file of the HSA runtime that programs find; "": none */

	/* environment */
	bool env_disabled, no_interrupts;
	char env_wrong[96]; /* a KFDSHIM_ variable that counts as unset, with its value */
	char tools[256];    /* HSA_TOOLS_LIB */

	struct doctor_process *processes;
	size_t process_count;
	bool processes_hidden; /* kfd/proc has the host's pids, and we are in a container */
	int asked_pid;	       /* 0: of all */
};

void doctor_facts_init(struct doctor_facts *facts);
void doctor_facts_free(struct doctor_facts *facts);
void doctor_process_init(struct doctor_process *process, int pid);

/* doctor_gather.c: fills what can be found out. `socket`: NULL is the session's
 * own; `pid` 0: of all processes. -ENOMEM, or 0. */
int doctor_gather(struct doctor_facts *facts, const char *socket, int pid);

/* The parts of doctor_gather(), each in a file of its own. `status`: what the daemon
 * answered, NULL without one; the caller owns it. */
void doctor_gather_rights(struct doctor_facts *facts);
void doctor_gather_shim(struct doctor_facts *facts);
void doctor_gather_daemon(struct doctor_facts *facts, const char *socket, json_t **status);
int doctor_gather_processes(struct doctor_facts *facts, const json_t *status);

#endif
