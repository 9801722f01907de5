/* SPDX-License-Identifier: MIT */
/*
 * The part of the KFD ioctl ABI that the system's header may be too old to contain. Older parts
 * come from <linux/kfd_ioctl.h>. All names here have the prefix kfdabi, so that they never clash
 * with those of a newer system header; tests/unit/kfd compares both where the system's header has
 * the same definition.
 *
 * In structs, "out" marks fields that the driver writes, "in" what the caller passes in a field
 * that the driver overwrites.
 *
 * Source: include/uapi/linux/kfd_ioctl.h of Linux, KFD 1.13 (Linux 6.5) to 1.23.
 */
#ifndef KFDSHIM_KFD_UAPI_H
#define KFDSHIM_KFD_UAPI_H

#include <linux/kfd_ioctl.h>

/* Redefined, because the system's header shifts a signed 1 into the sign bit. */
#undef KFD_IOC_ALLOC_MEM_FLAGS_WRITABLE
#define KFD_IOC_ALLOC_MEM_FLAGS_WRITABLE (1u << 31)
#include <stdint.h>
#include <sys/ioctl.h>

/* Numbers of the ioctls: the low byte of the command. The driver evaluates only this number and the
 * size. */
#define KFDABI_TYPE 'K'
enum kfdabi_nr {
	KFDABI_GET_VERSION = 0x01,
	KFDABI_CREATE_QUEUE = 0x02,
	KFDABI_DESTROY_QUEUE = 0x03,
	KFDABI_SET_MEMORY_POLICY = 0x04,
	KFDABI_GET_CLOCK_COUNTERS = 0x05,
	KFDABI_GET_PROCESS_APERTURES = 0x06,
	KFDABI_UPDATE_QUEUE = 0x07,
	KFDABI_CREATE_EVENT = 0x08,
	KFDABI_DESTROY_EVENT = 0x09,
	KFDABI_SET_EVENT = 0x0a,
	KFDABI_RESET_EVENT = 0x0b,
	KFDABI_WAIT_EVENTS = 0x0c,
	KFDABI_SET_SCRATCH_BACKING_VA = 0x11,
	KFDABI_GET_TILE_CONFIG = 0x12,
	KFDABI_SET_TRAP_HANDLER = 0x13,
	KFDABI_GET_PROCESS_APERTURES_NEW = 0x14,
	KFDABI_ACQUIRE_VM = 0x15,
	KFDABI_ALLOC_MEMORY_OF_GPU = 0x16,
	KFDABI_FREE_MEMORY_OF_GPU = 0x17,
	KFDABI_MAP_MEMORY_TO_GPU = 0x18,
	KFDABI_UNMAP_MEMORY_FROM_GPU = 0x19,
	KFDABI_SET_CU_MASK = 0x1a,
	KFDABI_GET_QUEUE_WAVE_STATE = 0x1b,
	KFDABI_GET_DMABUF_INFO = 0x1c,
	KFDABI_IMPORT_DMABUF = 0x1d,
	KFDABI_ALLOC_QUEUE_GWS = 0x1e,
	KFDABI_SMI_EVENTS = 0x1f,
	KFDABI_SVM = 0x20,
	KFDABI_SET_XNACK_MODE = 0x21,
	KFDABI_CRIU_OP = 0x22,
	KFDABI_AVAILABLE_MEMORY = 0x23,
	KFDABI_EXPORT_DMABUF = 0x24,
	KFDABI_RUNTIME_ENABLE = 0x25,
	KFDABI_DBG_TRAP = 0x26,
	KFDABI_CREATE_PROCESS = 0x27, /* since KFD 1.19; no argument */
	KFDABI_PROFILER = 0x28,
	KFDABI_NR_END = 0x29, /* the driver does not know numbers from here on (ENOTTY) */
};

/* A queue type that older system headers do not have: an SDMA or XGMI queue on the engine that
 * sdma_engine_id names. */
#define KFDABI_QUEUE_TYPE_SDMA_BY_ENG_ID 4u

/* CREATE_QUEUE as of KFD 1.17: eight bytes longer than the older one. */
struct kfdabi_create_queue {
	uint64_t ring_base_address;
	uint64_t write_pointer_address;
	uint64_t read_pointer_address;
	uint64_t doorbell_offset; /* out */
	uint32_t ring_size;
	uint32_t gpu_id;
	uint32_t queue_type;
	uint32_t queue_percentage;
	uint32_t queue_priority;
	uint32_t queue_id; /* out */
	uint64_t eop_buffer_address;
	uint64_t eop_buffer_size;
	uint64_t ctx_save_restore_address;
	uint32_t ctx_save_restore_size;
	uint32_t ctl_stack_size;
	uint32_t sdma_engine_id; /* engine of KFDABI_QUEUE_TYPE_SDMA_BY_ENG_ID, since KFD 1.17 */
	uint32_t pad;
};

/* EXPORT_DMABUF (KFD 1.11): makes a dma-buf fd of a buffer. */
struct kfdabi_export_dmabuf {
	uint64_t handle;
	uint32_t flags;	    /* O_CLOEXEC */
	uint32_t dmabuf_fd; /* out */
};

/* RUNTIME_ENABLE: the runtime registers with the driver for debugging. */
#define KFDABI_RUNTIME_MODE_ENABLE 1u
#define KFDABI_RUNTIME_MODE_TTMP_SAVE 2u
struct kfdabi_runtime_enable {
	uint64_t r_debug;
	uint32_t mode_mask; /* 0: disable */
	uint32_t capabilities_mask;
};
enum kfdabi_runtime_state {
	KFDABI_RUNTIME_DISABLED = 0,
	KFDABI_RUNTIME_ENABLED = 1,
	KFDABI_RUNTIME_BUSY = 2,
	KFDABI_RUNTIME_ERROR = 3,
};
struct kfdabi_runtime_info { /* written by DBG_TRAP ENABLE */
	uint64_t r_debug;
	uint32_t runtime_state;
	uint32_t ttmp_setup;
};

enum kfdabi_dbg_trap_op {
	KFDABI_TRAP_ENABLE = 0,
	KFDABI_TRAP_DISABLE = 1,
	KFDABI_TRAP_SEND_RUNTIME_EVENT = 2,
	KFDABI_TRAP_SET_EXCEPTIONS_ENABLED = 3,
	KFDABI_TRAP_SET_WAVE_LAUNCH_OVERRIDE = 4,
	KFDABI_TRAP_SET_WAVE_LAUNCH_MODE = 5,
	KFDABI_TRAP_SUSPEND_QUEUES = 6,
	KFDABI_TRAP_RESUME_QUEUES = 7,
	KFDABI_TRAP_SET_NODE_ADDRESS_WATCH = 8,
	KFDABI_TRAP_CLEAR_NODE_ADDRESS_WATCH = 9,
	KFDABI_TRAP_SET_FLAGS = 10,
	KFDABI_TRAP_QUERY_DEBUG_EVENT = 11,
	KFDABI_TRAP_QUERY_EXCEPTION_INFO = 12,
	KFDABI_TRAP_GET_QUEUE_SNAPSHOT = 13,
	KFDABI_TRAP_GET_DEVICE_SNAPSHOT = 14,
};

/* Modes of wave launch. A change applies only to waves that start after it. */
enum kfdabi_launch_mode {
	KFDABI_LAUNCH_NORMAL = 0,
	KFDABI_LAUNCH_HALT = 1,
	KFDABI_LAUNCH_DEBUG = 3,
};
enum kfdabi_override_mode { KFDABI_OVERRIDE_OR = 0, KFDABI_OVERRIDE_REPLACE = 1 };
/* Traps that an override can turn on. */
enum kfdabi_trap_mask {
	KFDABI_TRAP_MASK_FP = 0x3f, /* invalid, denormal, divide by 0, over-, underflow, inexact */
	KFDABI_TRAP_MASK_INT_DIVIDE_BY_ZERO = 0x40,
	KFDABI_TRAP_MASK_ADDRESS_WATCH = 0x80,
	KFDABI_TRAP_MASK_MEMORY_VIOLATION = 0x100,
	KFDABI_TRAP_MASK_WAVE_START = 1 << 30, /* gfx11 and later */
};
#define KFDABI_WATCH_POINTS 4u /* number on each GPU, for all processes together */
/* Flags of SET_FLAGS, and the bits of a node's capability in the topology that show that the GPU
 * accepts them. */
#define KFDABI_FLAG_SINGLE_MEM_OP 1u
#define KFDABI_FLAG_SINGLE_ALU_OP 2u
#define KFDABI_CAP_SINGLE_MEM_OP (1u << 18)
#define KFDABI_CAP_SINGLE_ALU_OP (1u << 30)

/* Exception codes. The bit of a code in an exception mask is kfdabi_ec_mask(). */
enum kfdabi_exception {
	KFDABI_EC_NONE = 0,
	/* exceptions of a queue */
	KFDABI_EC_QUEUE_WAVE_ABORT = 1,
	KFDABI_EC_QUEUE_WAVE_TRAP = 2,
	KFDABI_EC_QUEUE_WAVE_MATH_ERROR = 3,
	KFDABI_EC_QUEUE_WAVE_ILLEGAL_INSTRUCTION = 4,
	KFDABI_EC_QUEUE_WAVE_MEMORY_VIOLATION = 5,
	KFDABI_EC_QUEUE_WAVE_APERTURE_VIOLATION = 6,
	KFDABI_EC_QUEUE_PACKET_DISPATCH_DIM_INVALID = 16,
	KFDABI_EC_QUEUE_PACKET_DISPATCH_GROUP_SEGMENT_SIZE_INVALID = 17,
	KFDABI_EC_QUEUE_PACKET_DISPATCH_CODE_INVALID = 18,
	KFDABI_EC_QUEUE_PACKET_RESERVED = 19,
	KFDABI_EC_QUEUE_PACKET_UNSUPPORTED = 20,
	KFDABI_EC_QUEUE_PACKET_DISPATCH_WORK_GROUP_SIZE_INVALID = 21,
	KFDABI_EC_QUEUE_PACKET_DISPATCH_REGISTER_INVALID = 22,
	KFDABI_EC_QUEUE_PACKET_VENDOR_UNSUPPORTED = 23,
	KFDABI_EC_QUEUE_PREEMPTION_ERROR = 30,
	KFDABI_EC_QUEUE_NEW = 31,
	/* exceptions of a GPU */
	KFDABI_EC_DEVICE_QUEUE_DELETE = 32,
	KFDABI_EC_DEVICE_MEMORY_VIOLATION = 33,
	KFDABI_EC_DEVICE_RAS_ERROR = 34,
	KFDABI_EC_DEVICE_FATAL_HALT = 35,
	KFDABI_EC_DEVICE_NEW = 36,
	/* exceptions of the process */
	KFDABI_EC_PROCESS_RUNTIME = 48,
	KFDABI_EC_PROCESS_DEVICE_REMOVE = 49,
};

/* Masks of all exception codes of a queue, of a GPU and of the process. */
#define KFDABI_EC_QUEUE_MASK UINT64_C(0x607f803f)
#define KFDABI_EC_DEVICE_MASK UINT64_C(0xf80000000)
#define KFDABI_EC_PROCESS_MASK UINT64_C(0x1800000000000)

/* Returns the mask with the bit of an exception code, which must not be KFDABI_EC_NONE. */
static inline uint64_t kfdabi_ec_mask(unsigned code)
{
	return UINT64_C(1) << (code - 1);
}

/* Bits of an entry of the queue array that SUSPEND_QUEUES or RESUME_QUEUES has written back, the
 * mask of the queue id in it, and the longest array that the driver accepts. */
#define KFDABI_QUEUE_ERROR (1u << 30)
#define KFDABI_QUEUE_INVALID (1u << 31)
#define KFDABI_QUEUE_ID_MASK 0x3fffffffu
#define KFDABI_QUEUE_ARRAY_MAX 1024u
#define KFDABI_GRACE_DEFAULT 0xffffffffu /* a grace period: the driver's default */

/* DBG_TRAP: the debug interface; `op` selects the member of the union. */
struct kfdabi_dbg_trap {
	uint32_t pid; /* target process, in the caller's PID namespace */
	uint32_t op;  /* enum kfdabi_dbg_trap_op */
	union {
		struct {
			uint64_t exception_mask;
			uint64_t rinfo_ptr;
			uint32_t rinfo_size;
			uint32_t dbg_fd;
		} enable;
		struct {
			uint64_t exception_mask;
			uint32_t gpu_id;
			uint32_t queue_id;
		} send_runtime_event;
		struct {
			uint64_t exception_mask;
		} set_exceptions_enabled;
		struct {
			uint32_t override_mode; /* enum kfdabi_override_mode */
			uint32_t enable_mask;	/* in: new value, out: old value */
			uint32_t support_mask;	/* in: requested, out: supported */
			uint32_t pad;
		} launch_override;
		struct {
			uint32_t launch_mode; /* enum kfdabi_launch_mode */
			uint32_t pad;
		} launch_mode;
		struct {
			uint64_t exception_mask;
			uint64_t queue_array_ptr;
			uint32_t num_queues;
			uint32_t grace_period;
		} suspend;
		struct {
			uint64_t queue_array_ptr;
			uint32_t num_queues;
			uint32_t pad;
		} resume;
		struct {
			uint64_t address;
			uint32_t mode; /* kind of access: 0 read, 1 not read, 2 atomic, 3 all */
			uint32_t mask;
			uint32_t gpu_id;
			uint32_t id; /* out */
		} set_watch;
		struct {
			uint32_t gpu_id;
			uint32_t id;
		} clear_watch;
		struct {
			uint32_t flags; /* in: new value, out: old value */
			uint32_t pad;
		} set_flags;
		struct {
			uint64_t exception_mask; /* in: to be cleared, out: raised */
			/* out; set also if the exception is one of a queue */
			uint32_t gpu_id;
			uint32_t queue_id; /* out */
		} query_event;
		struct {
			uint64_t info_ptr;
			uint32_t info_size; /* in: room, out: bytes available */
			uint32_t source_id; /* queue id or gpu_id */
			uint32_t exception_code;
			uint32_t clear_exception;
		} query_info;
		struct {
			uint64_t exception_mask;
			uint64_t snapshot_buf_ptr;
			uint32_t num_queues; /* in: room, out: number of queues that exist */
			uint32_t entry_size; /* in: stride, out: bytes written for each */
		} queue_snapshot;
		struct {
			uint64_t exception_mask;
			uint64_t snapshot_buf_ptr;
			uint32_t num_devices;
			uint32_t entry_size;
		} device_snapshot;
	} u;
};

struct kfdabi_queue_snapshot {
	uint64_t exception_status;
	uint64_t ring_base_address;
	uint64_t write_pointer_address;
	uint64_t read_pointer_address;
	uint64_t ctx_save_restore_address;
	uint32_t queue_id;
	uint32_t gpu_id;
	uint32_t ring_size;
	uint32_t queue_type;
	uint32_t ctx_save_restore_area_size;
	uint32_t reserved;
};

struct kfdabi_device_snapshot {
	uint64_t exception_status;
	uint64_t lds_base;
	uint64_t lds_limit;
	uint64_t scratch_base;
	uint64_t scratch_limit;
	uint64_t gpuvm_base;
	uint64_t gpuvm_limit;
	uint32_t gpu_id;
	uint32_t location_id;
	uint32_t vendor_id;
	uint32_t device_id;
	uint32_t revision_id;
	uint32_t subsystem_vendor_id;
	uint32_t subsystem_device_id;
	uint32_t fw_version;
	uint32_t gfx_target_version;
	uint32_t simd_count;
	uint32_t max_waves_per_simd;
	uint32_t array_count; /* number of arrays of one XCC */
	uint32_t simd_arrays_per_engine;
	uint32_t num_xcc;
	uint32_t capability;
	uint32_t debug_prop;
	uint32_t capability2; /* last field of the entry of KFD 1.17 */
	uint32_t pad;
};
#define KFDABI_DEVICE_SNAPSHOT_BYTES_1_17 120u

/* Numbers of the events of SMI_EVENTS; the bit of an event in a mask is 1 << (number - 1). */
enum kfdabi_smi_event {
	KFDABI_SMI_VMFAULT = 1,
	KFDABI_SMI_THERMAL_THROTTLE = 2,
	KFDABI_SMI_GPU_PRE_RESET = 3,
	KFDABI_SMI_GPU_POST_RESET = 4,
	KFDABI_SMI_MIGRATE_START = 5,
	KFDABI_SMI_MIGRATE_END = 6,
	KFDABI_SMI_PAGE_FAULT_START = 7,
	KFDABI_SMI_PAGE_FAULT_END = 8,
	KFDABI_SMI_QUEUE_EVICTION = 9,
	KFDABI_SMI_QUEUE_RESTORE = 10,
	KFDABI_SMI_UNMAP_FROM_GPU = 11,
	KFDABI_SMI_PROCESS_START = 12,
	KFDABI_SMI_PROCESS_END = 13,
	KFDABI_SMI_ALL_PROCESS = 64,
};

_Static_assert(sizeof(struct kfdabi_create_queue) == 96, "CREATE_QUEUE");
_Static_assert(sizeof(struct kfdabi_export_dmabuf) == 16, "EXPORT_DMABUF");
_Static_assert(sizeof(struct kfdabi_runtime_enable) == 16, "RUNTIME_ENABLE");
_Static_assert(sizeof(struct kfdabi_runtime_info) == 16, "runtime info");
_Static_assert(sizeof(struct kfdabi_dbg_trap) == 32, "DBG_TRAP");
_Static_assert(sizeof(struct kfdabi_queue_snapshot) == 64, "queue snapshot");
_Static_assert(sizeof(struct kfdabi_device_snapshot) == 128, "device snapshot");

#define KFDABI_IOC_RUNTIME_ENABLE                                                                  \
	_IOWR(KFDABI_TYPE, KFDABI_RUNTIME_ENABLE, struct kfdabi_runtime_enable)
#define KFDABI_IOC_DBG_TRAP _IOWR(KFDABI_TYPE, KFDABI_DBG_TRAP, struct kfdabi_dbg_trap)
#define KFDABI_IOC_GET_VERSION                                                                     \
	_IOR(KFDABI_TYPE, KFDABI_GET_VERSION, struct kfd_ioctl_get_version_args)

/* Bits of a node's `capability` in the topology. CAP_DEBUG: queues can be debugged.
 * CAP_FIRMWARE_DEBUG: the firmware supports debugging. */
#define KFDABI_CAP_DEBUG (1u << 15)
#define KFDABI_CAP_FIRMWARE_DEBUG (1u << 29)

#endif
