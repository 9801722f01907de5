/* SPDX-License-Identifier: MIT */
/*
 * The facts that kfdsched doctor and diagnose know of a machine, a session and its processes.
 * facts_driver.c and its neighbours collect them, the checks (checks.h) evaluate them, and tests
 * invent them.
 *
 * A fact that could not be found out is unknown and is never taken for "no": -1 in a number,
 * DOCTOR_UNKNOWN in a yes-or-no, "" in a text. doctor_facts_init() sets all facts to unknown.
 * Errors are positive errnos; 0: it worked, -1: not tried.
 *
 * Threads: none. Ownership: doctor_facts_free() frees what the facts point to.
 */
#ifndef KFDSHIM_CLI_DOCTOR_FACTS_H
#define KFDSHIM_CLI_DOCTOR_FACTS_H

#include <limits.h>

#include "cli/inspect/process.h"
#include "cli/inspect/queue_view.h"
#include "common/nodes.h"
#include "kfd/reason.h"

#define DOCTOR_NODES ((int)GPU_NODES_MAX) /* GPU nodes of a machine that are examined */

/* Values of Yama's ptrace_scope. 2: tracing needs CAP_SYS_PTRACE; 3: no process may trace. */
#define YAMA_ADMIN_ONLY 2
#define YAMA_NO_ATTACH 3

enum doctor_known { DOCTOR_UNKNOWN = -1, DOCTOR_NO = 0, DOCTOR_YES = 1 };

/* Levels of preemption, the best first: the daemon suspends the process (TRAP); the shim suspends
 * its own process (SELF), delays its submissions (GATE), or lowers its share (WEIGHT); the process
 * is never held back (OBSERVE). A process can also have no level (LEVEL_NONE). */
enum doctor_level {
	LEVEL_TRAP,
	LEVEL_SELF,
	LEVEL_GATE,
	LEVEL_WEIGHT,
	LEVEL_OBSERVE,
	LEVELS,
	LEVEL_NONE = LEVELS,
	LEVEL_UNKNOWN
};
/* Returns "trap", ..., "none"; "-" for LEVEL_UNKNOWN. */
const char *doctor_level_name(enum doctor_level level);

/* A KFD node with a GPU. */
struct doctor_node {
	uint32_t gpu_id;
	int64_t gfx_target_version; /* 90010 is gfx90a */
	int64_t capability;	    /* KFDABI_CAP_* */
	int64_t render_minor;
	int render_error;	/* errno of opening /dev/dri/renderD<minor> */
	int64_t queue_slots;	/* slots for compute queues (num_cp_queues) */
	int64_t compute_queues; /* queues of all processes */
	int64_t cwsr_size; /* 0: the driver saves no waves; -1: older drivers do not report it */
	int64_t vram_bytes, xccs;
	/* VRAM of the whole card, also if the card has partitions, as libdrm reports it. */
	int64_t card_vram_bytes, card_vram_used;
	char partition[16]; /* SPX, CPX, ...; "": no partition modes, or not reported */
	char memory_partition[16];
	char policy[16]; /* the daemon's policy for the node */
};

/* A GPU of AMD that libdrm lists, and that is no node of KFD. */
struct doctor_card {
	char bdf[20];
	unsigned render_minor;
};
#define DOCTOR_CARDS 8

/* A process that the daemon knows, that the driver lists, or that the user named. */
struct doctor_process {
	int pid;
	char comm[16];
	enum doctor_known uses_gpu; /* it has a directory in /sys/class/kfd/kfd/proc */

	/* ---- from the daemon ---- */
	enum doctor_known registered; /* NO: the daemon does not know it, or no daemon replied */
	enum doctor_level level;
	struct reason reason;	   /* why it has no better level; code REASON_NONE: not known */
	enum doctor_known runtime; /* its runtime is enabled for debugging; NO: it can never be */
	int64_t priority;	   /* 0 to 15; -1: it has none */
	bool external; /* it runs without the shim; a match rule or a command sets its priority */
	unsigned drm_queues;
	enum doctor_known held; /* its queues are suspended now, or its submissions wait */
	int64_t suspends, suspended_us;

	/* ---- from /proc ---- */
	enum doctor_known shim;	    /* libkfdshim.so is in its memory */
	enum doctor_known kfd_open; /* /dev/kfd is among its open files */
	/* set_id: set-ID or with file capabilities; static_program: linked statically; other_class:
	 * not a 64-bit ELF program. */
	enum doctor_known set_id, static_program, other_class;
	int64_t tracer;	       /* pid of the process that traces it; 0: none */
	int64_t tracer_parent; /* pid of the tracer's parent */
	char tracer_name[16];
	char rocr[PATH_MAX]; /* file of its HSA runtime */
	enum doctor_known environment_read;
	char env_priority[64], env_socket[128];
	enum doctor_level env_level;	 /* LEVEL_UNKNOWN: auto, or no level */
	char preload[PATH_MAX];		 /* libkfdshim.so in its LD_PRELOAD; "": none */
	enum doctor_known preload_there; /* the file exists in the process's root directory */
	bool env_disabled;		 /* KFDSHIM_DISABLE=1 */
	int64_t vram_limit;		 /* bytes per node; -1: none, or not known */
	size_t node_count;		 /* nodes on which it has memory or queues */
	uint32_t gpu_ids[GPU_NODES_MAX]; /* gpu_ids of those nodes */
};

/* Facts about the process that the user named, in addition to its struct doctor_process. */
struct doctor_named {
	pid_t queried; /* number that the user gave: identity.pid, or one of its threads */
	struct process_identity identity; /* pid 0: no process was named, or /proc hides it */
	char user[32];			  /* name, or "uid N" */
	unsigned threads;		  /* number of its threads; 0: not known */
	pid_t parent;			  /* 0: none, or one of another pid namespace */
	char parent_name[16];
	enum doctor_known paused;	       /* its cgroup is frozen ("docker pause") */
	char thaw[256];			       /* file that thaws that cgroup; "": not known */
	enum doctor_known dumpable;	       /* NO: reading or tracing it needs CAP_SYS_PTRACE */
	enum doctor_known same_user_namespace; /* the same as kfdsched's */
	struct observation seen;	       /* its queues, as the sources report them; owned */
};

struct doctor_daemon {
	char socket[128];
	int error; /* errno of the query; 0: the daemon replied */
	int64_t reply_us;
	int64_t pid, worker_pid; /* in the daemon's own pid namespace */
	enum doctor_known here;	 /* `pid` is a kfdschedd in kfdsched's pid namespace */
	char version[32];
	int64_t uptime_us, failures, suspends;
	int64_t restarts;      /* number of earlier workers of the same daemon */
	int64_t refused_calls; /* system calls that the daemon's own seccomp filter refused */
	int64_t room, refused; /* room: limit of connections at a time; refused: number refused */
	int64_t elsewhere; /* number of clients in other pid namespaces; not in facts.processes */
	enum doctor_known sys_ptrace; /* its worker has CAP_SYS_PTRACE */
	int64_t open_files;	      /* RLIMIT_NOFILE of its worker */
	int64_t other_pid;	      /* if no daemon replied: pid of a kfdschedd; 0: none runs */
};

struct doctor_facts {
	/* ---- simulation ---- */
	bool simulated;
	char profile[64], simulated_kernel[32];

	/* ---- kernel, driver and GPUs ---- */
	char release[65];
	enum doctor_known module; /* amdgpu is loaded, or built in */
	enum doctor_known out_of_tree;
	char driver_version[64];
	int64_t cwsr_enable, sched_policy; /* parameters of the module */
	int kfd_error;			   /* errno of opening /dev/kfd */
	int64_t kfd_group;		   /* gid of /dev/kfd; its name follows */
	char kfd_group_name[32];
	int64_t kfd_major, kfd_minor; /* version of the KFD interface */
	struct doctor_node *nodes;
	size_t node_count;
	bool more_nodes; /* the machine has more than DOCTOR_NODES */
	struct doctor_card cards[DOCTOR_CARDS];
	size_t card_count;
	unsigned forbidden_nodes; /* nodes that the container's device cgroup forbids */

	/* ---- the user's rights ---- */
	unsigned uid; /* effective */
	char user[32];
	enum doctor_known sys_ptrace; /* kfdsched has CAP_SYS_PTRACE */
	int64_t yama;		      /* ptrace_scope; -1: this kernel has no Yama */
	int ptrace_error;	      /* errno of PTRACE_TRACEME in a child of kfdsched */
	enum doctor_known initial_pid_namespace;
	char hidepid[16]; /* option of the mount of /proc; "": /proc hides nothing */

	struct doctor_daemon daemon;

	/* ---- what the shim needs ---- */
	char shim[PATH_MAX], agent[PATH_MAX]; /* libraries of this build; "": not found */
	char preload_problem[256];	      /* message of the dynamic linker; "": none */
	enum doctor_known preload_works;
	char agent_problem[256];
	enum doctor_known agent_works;
	char runtime_dir[PATH_MAX];   /* directory in which shims find each other (peers.h) */
	char runtime_problem[128];    /* "": usable */
	bool runtime_taken;	      /* the problem is that another user owns the directory */
	int shm_error, eventfd_error; /* errno of making a sealed memfd, and an eventfd */
	int64_t open_files;	      /* RLIMIT_NOFILE of kfdsched */
	char rocr[PATH_MAX];	      /* file of the HSA runtime that programs load; "": none */

	/* ---- environment ---- */
	bool env_disabled, no_interrupts; /* KFDSHIM_DISABLE=1; HSA_ENABLE_INTERRUPT=0 */
	char env_wrong[96]; /* a KFDSHIM_ variable that is ignored as invalid, with its value */
	char tools[256];    /* HSA_TOOLS_LIB */

	struct doctor_process *processes; /* sorted by pid; owned */
	size_t process_count, process_room;
	bool processes_hidden; /* kfd/proc lists processes, but with pids of the host */
	int chosen_pid;	       /* 0: all processes */
	struct doctor_named named;
};

void doctor_facts_init(struct doctor_facts *facts);
void doctor_facts_free(struct doctor_facts *facts);
void doctor_process_init(struct doctor_process *process, int pid);

/* Returns the entry of the named process in facts->processes, which doctor_collect() has added. */
const struct doctor_process *doctor_named_process(const struct doctor_facts *facts);
/* Writes a process as "gdb (77)" into `text` and returns it; returns `unknown` for pid 0 or -1. */
const char *doctor_name_process(char text[48], const char *name, int64_t pid, const char *unknown);
/* Returns true if the process has ended or is a kernel thread, so nothing can be preempted. */
bool doctor_is_dead(const struct doctor_named *named);

/*
 * Initializes *facts and collects all facts that can be found out. `socket`: path of the
 * daemon's socket, not NULL. `pid`: process to examine, which may also be the number of a thread;
 * 0: all processes. doctor_facts_free() ends *facts, also after an error. Opens /dev/kfd for a
 * moment, and starts child processes. Returns 0, or -ESRCH if there is no such process, or if it
 * has ended in the meantime.
 */
int doctor_collect(struct doctor_facts *facts, const char *socket, int pid);
/* Collects the queues of the named process from all sources. Returns 0; -ESRCH: it has ended
 * meanwhile; -EACCES: /proc hides it from this user. */
int doctor_collect_queues(struct doctor_facts *facts, const char *socket);

/* ---- parts of doctor_collect(), each in a file of its own ---- */

/* Runs function() in a child, because a sandbox may kill the process that runs it. Returns the
 * result of function(), 0 to 255; EPERM if the child was killed; -1 if it could not be tried. */
int doctor_in_child(int (*function)(const struct doctor_facts *facts),
		    const struct doctor_facts *facts);
/* Collects the rights of this user and what the kernel and the container allow. */
void doctor_collect_rights(struct doctor_facts *facts);
/* Collects what a program that is started in this session finds: the shim, the directory in
 * which shims meet, limits, the HSA runtime, environment variables. */
void doctor_collect_shim(struct doctor_facts *facts);
/* Queries the daemon. *status: its reply, owned by the caller; NULL if there was none. */
void doctor_collect_daemon(struct doctor_facts *facts, const char *socket, json_t **status);
/* Collects the processes from the daemon's reply (`status`, may be NULL), the driver's list and
 * /proc, and counts the compute queues of each node. */
void doctor_collect_processes(struct doctor_facts *facts, const json_t *status);
/* Identifies the process that has pid `pid` or a thread with this number, and collects its state.
 * Returns 0 (also if /proc hides it) or -ESRCH. */
int doctor_collect_named(struct doctor_named *named, pid_t pid);

#endif
