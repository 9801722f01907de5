/* SPDX-License-Identifier: MIT */
/*
 * The messages and shared-memory layouts of protocol version 4, copied from libkfdshim.so of that
 * version under names of their own. They must never change: a daemon still serves such a shim
 * (channel/protocol.h), and the tests that include this file send and read its bytes.
 */
#ifndef KFDSHIM_TESTS_PROTOCOL_4_H
#define KFDSHIM_TESTS_PROTOCOL_4_H

#include <stdint.h>

#define V4_PROTOCOL 4u
#define V4_CLIENT_SHM 2u
#define V4_NODES 16u
#define V4_QUEUES 512u
#define V4_EVENTS 256u
#define V4_GROUP 64u

struct v4_hello {
	uint32_t magic;
	uint32_t version;
	uint32_t kind;
	int32_t priority;
	uint32_t level;
	uint32_t slo_us;
	int32_t pid;
	uint32_t op;
	uint32_t lease_s;
	uint32_t gpu_id;
	uint32_t policy;
	uint32_t share_percent;
	char group[V4_GROUP];
	int32_t target_pid;
	uint32_t pad;
	uint64_t target_inode;
};

struct v4_welcome {
	uint32_t magic;
	uint32_t version;
	int32_t status;
	uint32_t more;
	uint64_t bytes;
};

struct v4_client_shm_queue {
	uint32_t seq;
	uint32_t used;
	uint32_t context;
	uint32_t queue_id;
	uint32_t gpu_id;
	uint32_t type;
	uint32_t priority;
	uint32_t percent;
	uint32_t cu_bits;
	uint32_t hooked;
	uint32_t cooperative;
	uint32_t state;
	uint64_t ring_address;
	uint64_t ring_bytes;
	uint64_t rptr_address;
	uint64_t wptr_address;
	uint64_t hsa_queue;
	uint64_t cwsr_address;
	uint32_t cwsr_bytes;
	uint32_t pad;
};

struct v4_client_shm_node {
	uint32_t gpu_id;
	uint32_t pad;
	uint64_t activity;
	uint64_t active_ns;
	uint64_t idle_ns;
	uint64_t vram_bytes;
};

struct v4_client_shm_event {
	uint64_t number;
	uint64_t ns;
	uint32_t kind;
	uint32_t context;
	uint32_t queue_id;
	uint32_t gpu_id;
	uint64_t value;
};

struct v4_client_shm {
	uint64_t magic;
	uint32_t version;
	uint32_t size;
	_Alignas(64) uint32_t runtime;
	int32_t runtime_errno;
	uint32_t queue_generation;
	uint32_t teardown_begin;
	uint32_t teardown_end;
	uint32_t own_session;
	uint32_t hold_cmd_done;
	int32_t hold_cmd_errno;
	uint64_t events_number;
	int32_t priority;
	uint32_t slo_us;
	uint32_t hold_cmd_us;
	char group[V4_GROUP];
	uint32_t queue_end;
	_Alignas(64) uint32_t session;
	uint32_t suspended;
	uint32_t teardown_granted;
	uint32_t hold_cmd;
	_Alignas(64) struct v4_client_shm_node nodes[V4_NODES];
	_Alignas(64) struct v4_client_shm_queue queues[V4_QUEUES];
	struct v4_client_shm_event events[V4_EVENTS];
};

struct v4_daemon_shm_node {
	uint32_t gpu_id;
	uint32_t urgent;
	uint32_t suspended;
	uint32_t pad;
};

struct v4_daemon_shm {
	uint64_t magic;
	uint32_t version;
	uint32_t size;
	uint64_t heartbeat_ns;
	uint32_t asleep;
	uint32_t node_count;
	struct v4_daemon_shm_node nodes[V4_NODES];
};

_Static_assert(sizeof(struct v4_hello) == 128, "hello of version 4");
_Static_assert(sizeof(struct v4_welcome) == 24, "welcome of version 4");
_Static_assert(sizeof(struct v4_client_shm) == 64384, "lane of version 4");
_Static_assert(sizeof(struct v4_daemon_shm) == 288, "board of version 4");

#endif
