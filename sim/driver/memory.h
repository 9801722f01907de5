/* SPDX-License-Identifier: MIT */
/*
 * Interface of the driver's memory, in three layers (amdgpu_amdkfd_gpuvm.c):
 *
 *   pages    a buffer object: a range of one node's part of the render file, accounted as VRAM
 *            or GTT. It lives as long as a KFD handle, a GEM handle or a dmabuf of any process
 *            refers to it.
 *   space    one GPU's page table of one process: what each GPU address refers to. It belongs
 *            to the open file of the render node (struct drm_file) that the process passed to
 *            ACQUIRE_VM.
 *   bo       what ALLOC_MEMORY_OF_GPU and IMPORT_DMABUF return: a handle to pages (or to the
 *            process's own memory, doorbells, MMIO) and the address at which MAP_MEMORY_TO_GPU
 *            maps them.
 *
 * Allocation does not zero memory, because freed pages are punched out of the file and read as
 * zeros. VRAM is sparse: a page uses host memory only from its first access on, so more can be
 * allocated than the host has. System memory (GTT) is only allocated while the host has it.
 *
 * Threads: all functions under sim->lock. Errors: negative errno.
 */
#ifndef KFDSHIM_SIM_DRIVER_MEMORY_H
#define KFDSHIM_SIM_DRIVER_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/types.h>

struct sim;
struct node;
struct process;
struct call;

/* A buffer object, reference counted. */
struct pages {
	struct sim *sim;
	uint32_t node;
	unsigned refs;
	uint64_t offset; /* in the render file */
	uint64_t at;	 /* in the node's part of the render file */
	uint64_t bytes;	 /* a multiple of the page size */
	/* GEM_USERPTR: address in the creating process; 0: pages of the render file */
	uint64_t user_va;
	bool vram;
	bool public; /* the CPU is allowed to map it */
	/* Values that GEM_METADATA and GEM_CREATE have set, which are only stored. */
	uint64_t gem_flags, tiling, metadata_flags;
	uint32_t metadata_bytes;
	char *metadata;
};

/* One range of a GPU page table. */
struct mapping {
	uint64_t va, size;
	struct pages *pages; /* NULL: USERPTR, doorbells or MMIO */
	char *doorbells;     /* doorbells: the process's doorbell page of one node; else NULL */
	uint64_t offset;     /* offset of `va` in the pages or the doorbell page */
	uint64_t cpu_va;     /* USERPTR: address in the process; else 0 */
	/* the struct bo or struct pages that the range belongs to, for space_unmap() */
	const void *owner;
};

/* A GPU page table. */
struct space {
	struct mapping *maps; /* sorted by va, disjoint */
	size_t n, cap;
};

/* A KFD memory handle. */
struct bo {
	uint64_t va, size; /* size of the mapping; for an AQL ring twice the size of `pages` */
	uint64_t cpu_va;
	uint64_t handle;
	uint64_t mapped; /* mask of nodes on which the buffer is mapped */
	uint32_t flags;
	uint32_t node;
	struct pages *pages; /* NULL: USERPTR, doorbells or MMIO */
	bool imported;
};

/* ---- pages.c: buffer objects; each node has its part of the render file ---- */
/* size of a node's part of the render file; 64 of them must fit into the address space */
#define NODE_MEMORY_BYTES (1ull << 40)
/* Maps the node's part of the render file, and installs a SIGBUS handler for pages that the host
 * cannot supply. Returns 0 or a negative errno. */
int heap_init(struct node *node);
/* Unmaps the node's part of the render file. */
void heap_done(struct node *node);
/* Allocates a buffer object with one reference; @bytes is rounded up to whole pages. Returns 0;
 * -ENOMEM if the limit for VRAM or GTT is reached, or the host has no memory. */
int pages_new(struct sim *sim, uint32_t node, uint64_t bytes, bool vram, struct pages **out);
/* Creates a buffer object for memory that the process has already (GEM_USERPTR), at @va, which like
 * @bytes is a multiple of the page size. The memory is only accounted, not allocated. */
int pages_new_user(struct sim *sim, uint32_t node, uint64_t va, uint64_t bytes, struct pages **out);
/* Take and drop a reference. Dropping the last one frees the pages. pages_unref() accepts NULL. */
struct pages *pages_ref(struct pages *pages);
void pages_unref(struct pages *pages);
/* Returns the address of byte @offset of the pages in kfdsim's own mapping of the render file. */
char *pages_at(const struct pages *pages, uint64_t offset);
/* Account system memory of processes that is locked for GPUs (USERPTR). system_take() adds @bytes
 * and returns 0 or -ENOMEM; system_give() subtracts @bytes. */
int system_take(struct sim *sim, uint64_t bytes);
void system_give(struct sim *sim, uint64_t bytes);
/* Returns the bytes of VRAM that AVAILABLE_MEMORY reports as free on the node. */
uint64_t vram_available(const struct sim *sim, uint32_t node);
/* Returns the bytes of each node that the driver reserves for page tables. */
uint64_t vram_reserved(const struct sim *sim);
/* If kfdsim accesses a page for which the host has no memory, the SIGBUS handler maps an anonymous
 * page in its place. heap_mend() maps the render file in place of these pages again. heap_lost()
 * returns their number since the last heap_mend(). */
unsigned heap_lost(void);
void heap_mend(struct sim *sim);

/* ---- page_table.c: GPU page tables ---- */
/* Adds a range to the page table. Returns 0; -EINVAL if it overlaps another range, is not in whole
 * pages or lies outside the GPU's addresses; -ENOMEM. */
int space_map(struct space *space, const struct mapping *mapping);
/* space_unmap() removes the ranges of @owner that intersect [va, va + size); space_unmap_all()
 * removes all ranges of @owner. */
void space_unmap(struct space *space, uint64_t va, uint64_t size, const void *owner);
void space_unmap_all(struct space *space, const void *owner);
/* Removes [va, va + size) from the page table, whatever the owner. A range that is only partly
 * inside loses that part. Returns 0 or -ENOMEM. */
int space_clear(struct space *space, uint64_t va, uint64_t size);
/* Returns the range of the page table that contains @va, or NULL. Valid until the table changes. */
const struct mapping *space_find(const struct space *space, uint64_t va);
/* Returns true if a range of the page table intersects [start, end). */
bool space_touches(const struct space *space, uint64_t start, uint64_t end);
/* Frees the memory of the page table. */
void space_free(struct space *space);
/* Returns the range that contains @va for the GPU of @node (NODE_ANY: for any GPU), or NULL. */
const struct mapping *memory_find(const struct process *process, uint32_t node, uint64_t va);

/* ---- memory.c: handles ---- */
/* Returns the buffer object that the process has under this handle, or NULL. */
struct bo *bo_by_handle(const struct process *process, uint64_t handle);
/* Creates a handle to existing pages and takes a reference. Returns 0 or a negative errno. */
int bo_import(struct process *process, uint32_t node, struct pages *pages, uint64_t va,
	      uint64_t *handle);
/* Frees all handles of a process that has ended, drops its render node files and SVM attributes. */
void memory_release(struct process *process);
/* Returns the offset of the process's doorbell page of @node in the file behind /dev/kfd. */
uint64_t doorbell_offset(const struct process *process, uint32_t node);
/* ACQUIRE_VM: makes the caller's render node file the page table of one GPU. Returns 0 (also for
 * the same file again).
 * -EINVAL: unknown GPU, no render node, or the file has a process already.
 * -EBUSY: the process has another file for this GPU. */
int ioctl_acquire_vm(struct call *call);
/* ALLOC_MEMORY_OF_GPU: creates a buffer. Returns 0, or CALL_PENDING while a USERPTR is pinned.
 * -EINVAL: size 0, unknown GPU, no kind of memory, or a wrong size of doorbells or MMIO.
 * -EADDRINUSE: in a range with SVM attributes. -ENODEV: no ACQUIRE_VM on this GPU. -EFAULT: USERPTR
 * without memory. -ENOMEM: a limit is reached, or the host has no memory. */
int ioctl_alloc_memory(struct call *call);
/* FREE_MEMORY_OF_GPU: frees a buffer. Returns 0. -EPERM: page of the event slots. -EINVAL: unknown
 * handle. -EBUSY: still mapped on a GPU. */
int ioctl_free_memory(struct call *call);
/* MAP_MEMORY_TO_GPU and UNMAP_MEMORY_FROM_GPU: map or unmap a buffer on the GPUs of an array in the
 * caller's memory. n_success counts the GPUs that are done, so that the caller can continue after
 * an error. Return 0.
 * -EINVAL: no GPU, unknown GPU, addresses in use (map), or not mapped (unmap).
 * -ENODEV: no ACQUIRE_VM on the GPU. -EFAULT: bad array. -ENOMEM: also for an unknown handle. */
int ioctl_map_memory(struct call *call);
int ioctl_unmap_memory(struct call *call);
/* AVAILABLE_MEMORY: returns the free VRAM of a GPU. Returns 0, or -EINVAL for an unknown GPU. */
int ioctl_available_memory(struct call *call);
/* GET_PROCESS_APERTURES_NEW: returns the number of GPUs if the caller's array has no entries, else
 * fills in the array. Returns 0, -EINVAL (more entries than nodes) or -EFAULT. */
int ioctl_apertures(struct call *call);
/* GET_PROCESS_APERTURES: returns the apertures of at most seven GPUs. Returns 0. */
int ioctl_apertures_old(struct call *call);
/* Fills in the apertures, which are the same for every GPU; the caller sets gpu_id. */
struct kfd_process_device_apertures;
void memory_apertures(struct kfd_process_device_apertures *out);
/* Returns the index of the node, or -EINVAL for an unknown gpu_id. */
int node_index(const struct sim *sim, uint32_t gpu_id);

/* ---- drm/gem.c: buffers behind a file descriptor ---- */
struct dmabuf;
/* Frees the dmabufs whose last fd was closed; called when dmabuf_fd is readable. */
void dmabufs_closed(struct sim *sim);
/* Create and close sim->dmabuf_fd, the inotify fd that reports closed dmabufs. */
int dmabufs_start(struct sim *sim);
void dmabufs_stop(struct sim *sim);
/* EXPORT_DMABUF: gives the caller an fd of a buffer. Returns 0; -EINVAL: unknown handle, or memory
 * without pages; another negative errno. */
int ioctl_export_dmabuf(struct call *call);
/* IMPORT_DMABUF: creates a handle to the buffer behind a dmabuf fd. Returns 0; -EINVAL: unknown
 * GPU, or no dmabuf; -ENODEV: no ACQUIRE_VM on the GPU; -EBADF; -ENOMEM. */
int ioctl_import_dmabuf(struct call *call);
/* GET_DMABUF_INFO: returns GPU, size, flags and metadata of a dmabuf. Returns 0; -EINVAL: no
 * dmabuf, or no room for the metadata; -EBADF; -EFAULT. */
int ioctl_dmabuf_info(struct call *call);

/* ---- svm.c: shared virtual memory ---- */
struct kfd_ioctl_alloc_memory_of_gpu_args;
/* SVM: sets or gets attributes of address ranges. Returns 0; -EINVAL; -EOVERFLOW; -EFAULT: no
 * memory there; -EADDRINUSE: a buffer is mapped there; -ENOMEM. */
int ioctl_svm(struct call *call);
/* Drops the SVM attributes of memory that the process has unmapped since the last call. The real
 * driver is notified of the unmap; here this function runs at each ioctl of the process except
 * WAIT_EVENTS, so memory that was unmapped and mapped again in between keeps its attributes. */
void svm_get(struct process *process);
/* SET_XNACK_MODE: sets or returns whether the process has retry faults. */
int ioctl_set_xnack_mode(struct call *call);
/* Returns true if the allocation would lie in an address range with SVM attributes. */
bool svm_overlaps(struct process *process, const struct kfd_ioctl_alloc_memory_of_gpu_args *a);
/* Returns true if the GPU of @node (NODE_ANY: some GPU) may access all of [va, va + size) as the
 * process's own memory. */
bool svm_covers(const struct process *process, uint32_t node, uint64_t va, uint64_t size);
/* Frees all attributes of the process. */
void svm_release(struct process *process);

/* ---- drm_file.c: open files of the render nodes ---- */
struct drm_file;
/* Finds the open file behind the caller's fd, as used on @node, and creates its struct drm_file at
 * the first use. libdrm takes render nodes that are not character devices for one device, so
 * runtimes pass the first node's fd for every GPU; such a file counts as a separate one on each
 * node that it is used for. Returns 0; -EBADF: no such fd; -EINVAL: not a render node; -ESRCH: the
 * caller is gone; another negative errno. */
int drm_file_find(struct call *call, int fd, uint32_t node, struct drm_file **out);
/* Returns the index of the node whose render node the caller opened as @fd (according to the path
 * of the open file), or -EINVAL. */
int drm_node(const struct sim *sim, pid_t tid, int fd);
/* Returns the page table of the process on the node; NULL: ACQUIRE_VM has not been called. */
struct space *vm_space(const struct process *process, uint32_t node);
/* Makes @process the user of the file's page table (ACQUIRE_VM) and takes a reference to the file.
 * Returns 0, or -EINVAL if the file has a user already. */
int drm_file_acquire(struct drm_file *file, const struct process *process);
/* Drops a reference to the file; the last one frees it. */
void drm_file_unref(struct drm_file *file);
/* Creates sim->drm_poll_fd. Returns 0 or a negative errno. */
int drm_files_start(struct sim *sim);
/* Frees the files of processes that have ended, and dmabufs that were closed. */
void drm_files_reap(struct sim *sim);
/* Frees all struct drm_file of the simulation. */
void drm_files_stop(struct sim *sim);

/* ---- memory.c: pinning of a caller's own pages ---- */
/* Ends the ALLOC_MEMORY_OF_GPU calls whose pinning of user memory is over at @now_ns (wall). */
void pins_expire(struct sim *sim, uint64_t now_ns);
/* Drops the pending ALLOC_MEMORY_OF_GPU (pinning of USERPTR memory) of a process that is dying. */
void pin_forget(struct process *process);

#endif
