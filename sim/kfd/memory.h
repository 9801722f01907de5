/* SPDX-License-Identifier: MIT */
/*
 * Memory as the driver has it, in three layers:
 *
 *   pages    a buffer object: a stretch of one node's render file, counted in
 *            VRAM or GTT. Lives while a handle, a GEM handle or a descriptor
 *            (dmabuf) of any process refers to it.
 *   space    a GPU's page table of one process: which addresses lead where. It
 *            belongs to the open file of the render node (drm_file) that the
 *            process handed to ACQUIRE_VM.
 *   bo       what ALLOC_MEMORY_OF_GPU and IMPORT_DMABUF return: a handle to
 *            pages (or to the process's own memory, doorbells, MMIO) with the
 *            address at which MAP_MEMORY_TO_GPU puts them.
 *
 * Nothing is zeroed on allocation: freed pages are punched out of the file.
 * Host memory: VRAM is sparse, a page of it costs the host a page when it is
 * first touched, so that more can be allocated than the host has. System memory
 * (GTT) is only given while the host has it. Threads: under the
 * world's lock.
 */
#ifndef KFDSHIM_SIM_KFD_MEMORY_H
#define KFDSHIM_SIM_KFD_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/stat.h>
#include <sys/types.h>

struct world;
struct node;
struct process;
struct call;

#define NODE_ANY UINT32_MAX /* accesses that are not one GPU's */

struct pages {
	struct world *world;
	uint32_t node;
	unsigned refs;
	uint64_t offset;  /* in the render file */
	uint64_t at;	  /* in the node's part of it */
	uint64_t bytes;	  /* whole pages */
	uint64_t user_va; /* not ours: there in the process that made it (GEM_USERPTR) */
	bool vram;
	bool public; /* the CPU may map it, too */
	/* What GEM_METADATA and GEM_CREATE said of it. */
	uint64_t gem_flags, tiling, metadata_flags;
	uint32_t metadata_bytes;
	char *metadata;
};

struct mapping {
	uint64_t va, size;
	struct pages *pages; /* NULL: not ours */
	char *doorbells;     /* pages NULL: the process's doorbells on one node, or NULL */
	uint64_t offset;     /* of va in the pages, or in the doorbells */
	uint64_t cpu_va;     /* USERPTR: where it lies in the process; else 0 */
	const void *owner;   /* who mapped it */
};

struct space {
	struct mapping *maps; /* by va, disjoint */
	size_t n, cap;
};

struct bo {
	uint64_t va, size; /* size: as mapped (an AQL ring's is twice its pages) */
	uint64_t cpu_va;
	uint64_t handle;
	uint64_t mapped; /* mask of nodes */
	uint32_t flags;
	uint32_t node;
	struct pages *pages; /* NULL: USERPTR, doorbells, MMIO */
	bool imported;
};

/* A process's side of one node. */
struct gpu_vm {
	struct drm_file *file;	/* NULL: VM not acquired */
	struct bo **bos;	/* by the low half of the handle */
	size_t n_bos, bos_from; /* none is free below bos_from */
};

/* pages.c: each node has a part of the render file, one behind the other. */
#define NODE_MEMORY_BYTES (1ull << 40) /* address space; 64 must fit */
int heap_init(struct node *node);
void heap_done(struct node *node);
/* -ENOMEM: the account or the host has no more. One reference. `bytes` is
 * rounded up to pages. */
int pages_new(struct world *world, uint32_t node, uint64_t bytes, bool vram, struct pages **out);
/* The process's own memory, in whole pages. */
int pages_new_user(struct world *world, uint32_t node, uint64_t va, uint64_t bytes,
		   struct pages **out);
struct pages *pages_ref(struct pages *pages);
void pages_unref(struct pages *pages);
char *pages_at(const struct pages *pages, uint64_t offset); /* as the supervisor sees them */
/* Memory of the processes that is locked for a GPU (USERPTR): counted only. */
int system_take(struct world *world, uint64_t bytes);
void system_give(struct world *world, uint64_t bytes);
uint64_t vram_available(const struct world *world, uint32_t node); /* as AVAILABLE_MEMORY tells */
uint64_t vram_reserved(const struct world *world); /* for page tables, of each node */
/* The host had no page left when the supervisor touched one: it got a page of
 * its own in place. How often so far; heap_mend() undoes those of before. */
unsigned heap_lost(void);
void heap_mend(struct world *world);

/* space.c */
/* -EINVAL: overlaps, not in whole pages or out of the GPU's range; -ENOMEM. */
int space_map(struct space *space, const struct mapping *mapping);
/* What `owner` mapped there. */
void space_unmap(struct space *space, uint64_t va, uint64_t size, const void *owner);
void space_unmap_all(struct space *space, const void *owner);
/* Takes [va, va + size) out, whoever mapped it, and cuts what reaches beyond. */
int space_clear(struct space *space, uint64_t va, uint64_t size);
const struct mapping *space_find(const struct space *space, uint64_t va);
bool space_touches(const struct space *space, uint64_t start, uint64_t end);
void space_free(struct space *space);
/* Where an address leads for that node's GPU (NODE_ANY: for any); NULL: nowhere. */
const struct mapping *memory_find(const struct process *process, uint32_t node, uint64_t va);

/* memory.c */
struct bo *bo_by_handle(const struct process *process, uint64_t handle);
/* A handle to pages that exist already; takes a reference. Negative: errno. */
int bo_import(struct process *process, uint32_t node, struct pages *pages, uint64_t va,
	      uint64_t *handle);
void memory_release(struct process *process);
uint64_t doorbell_offset(const struct process *process, uint32_t node); /* in the kfd file */
int ioctl_acquire_vm(struct call *call);
int ioctl_alloc_memory(struct call *call);
int ioctl_free_memory(struct call *call);
int ioctl_map_memory(struct call *call);
int ioctl_unmap_memory(struct call *call);
int ioctl_available_memory(struct call *call);
int ioctl_apertures(struct call *call);
int ioctl_apertures_old(struct call *call);
/* Every GPU has the same, but for its gpu_id. */
struct kfd_process_device_apertures;
void memory_apertures(struct kfd_process_device_apertures *out);
int node_index(const struct world *world, uint32_t gpu_id); /* -EINVAL: unknown */

/* dmabuf.c: pages behind a descriptor. */
struct dmabuf;
/* Gives the caller a descriptor; its number, or a negative errno. */
int dmabuf_give(struct call *call, struct pages *pages, bool cloexec);
/* The pages behind the caller's descriptor, no reference: -EBADF, -EINVAL. */
int dmabuf_pages(struct call *call, int fd, struct pages **out);
void dmabufs_closed(struct world *world); /* something happened to one */
int dmabufs_start(struct world *world);
void dmabufs_stop(struct world *world);
int ioctl_export_dmabuf(struct call *call);
int ioctl_import_dmabuf(struct call *call);
int ioctl_dmabuf_info(struct call *call);

/* svm.c */
struct kfd_ioctl_alloc_memory_of_gpu_args;
int ioctl_svm(struct call *call);
/* The driver forgets attributes when their memory is unmapped. Here that is looked for at each call
 * of the process but those that wait: what was unmapped and mapped anew in between is not seen. */
void svm_look(struct process *process);
int ioctl_set_xnack_mode(struct call *call);
/* Would that allocation lie in a range with attributes? */
bool svm_overlaps(struct process *process, const struct kfd_ioctl_alloc_memory_of_gpu_args *a);
/* May that node's GPU (NODE_ANY: some) access all of it as the process's own memory? */
bool svm_covers(const struct process *process, uint32_t node, uint64_t va, uint64_t size);
void svm_release(struct process *process);

/* drm_file.c: open files of the render nodes. */
struct drm_file;
/* The file behind the caller's descriptor, made known if it is new; -EBADF or
 * -EINVAL: it is not one of a render node. libdrm takes render nodes that are no
 * character devices for one and the same, so that runtimes use the first one's
 * descriptor for every GPU: it is a file of its own on each node it is used for. */
int drm_file_find(struct call *call, int fd, uint32_t node, struct drm_file **out);
/* Which node's file the caller's descriptor is, known to be a render node's, by the
 * name it was opened with; -EINVAL: none's. */
int drm_node(const struct world *world, pid_t tid, int fd);
struct space *drm_file_space(struct drm_file *file);
/* A process computes in that file's space: -EINVAL if one does already. */
int drm_file_acquire(struct drm_file *file, const struct process *process);
void drm_file_unref(struct drm_file *file);
int drm_files_start(struct world *world);
void drm_files_reap(struct world *world); /* processes that have ended, dmabufs closed */
void drm_files_stop(struct world *world);

/* pin.c: the pages of a call are pinned, which takes pin_us with the mutex of the process held. 0:
 * no time; CALL_PENDING: answered with 0 then. */
int pin_begin(struct call *call);
void pins_expire(struct world *world, uint64_t now_ns);
/* Its process is dying. */
void pin_forget(struct process *process);

#endif
