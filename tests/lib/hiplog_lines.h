/* SPDX-License-Identifier: MIT */
/*
 * Sample lines of HIP's log in the format of each version. The lines of 5.2, 6.4 and 7.2 were
 * recorded in runs on kfdsim (the complete logs are in logs/); the others follow the format strings
 * in the sources of their version.
 */
#ifndef KFDSHIM_TESTS_HIPLOG_LINES_H
#define KFDSHIM_TESTS_HIPLOG_LINES_H

#define PREFIX_5_2 ":4:rocvirtual.cpp           :827 : 25647826028 us: 2    : [tid:0x7f4d0d24d780] "
#define PREFIX_6_1                                                                                 \
	":4:rocvirtual.cpp           :899 : 75799966442 us: [pid:202289 tid:0x7f674bedd880] "
#define PREFIX_6_4 ":4:rocvirtual.cpp           :1147: 25699725437 us: [pid:2 tid: 0x7f266c230780] "
#define PREFIX_7_2                                                                                 \
	":5:rocvirtual.cpp           :1165: 25701610683 us: [pid:4711 tid: 0x7fefa9a2f780] "
#define PREFIX_7_2_LEVEL_3 ":3:rocdevice.cpp            :2952: 25701113241 us:  "

#define HEADER "Header = 0xb02 (type=2, barrier=1, acquire=1, release=1), setup=1, "
#define SIZES                                                                                      \
	"grid=[4096, 1, 1], workgroup=[512, 1, 1], private_seg_size=0, group_seg_size=0, "         \
	"kernel_obj=0x7fefa8ea5940, kernarg_address=0x7fefa4600200, completion_signal=0x0"

#define LINE_5_2_DISPATCH PREFIX_5_2 "HWq=0x7f4d0b49a000, Dispatch " HEADER SIZES
#define LINE_6_1_DISPATCH PREFIX_6_1 "HWq=0x7f674b000000, Dispatch " HEADER SIZES
#define LINE_6_1_BARRIER_VALUE                                                                     \
	PREFIX_6_1 "HWq=0x7f674bc00000, BarrierValue Header = 0x1500 AmdFormat = 0x4 (type=0, "    \
		   "barrier=1, acquire=2, release=2), signal=0x7f674bd00000, value = 0x1 mask = "  \
		   "0xffffffffffffffff cond: EQ, completion_signal=0x0"
#define LINE_6_4_BARRIER                                                                           \
	PREFIX_6_4 "SWq=0x7f2669c26000, HWq=0x7f2551800000, id=1, BarrierAND Header = 0x1503 "     \
		   "(type=3, barrier=1, acquire=2, release=2), dep_signal=[0x0, 0x0, 0x0, 0x0, "   \
		   "0x0], completion_signal=0x7f2669bfd600"
#define LINE_7_2_DISPATCH                                                                          \
	PREFIX_7_2 "SWq=0x7fefa8eb6000, HWq=0x7fefa4c00000, id=1, Dispatch " HEADER SIZES          \
		   ", correlation_id=0, rptr=7, wptr=10"
#define LINE_NEWER_DISPATCH                                                                        \
	PREFIX_7_2 "SWq=0x7fefa8eb6000, HWq=0x7fefa4c00000, priority=1, id=12, "                   \
		   "virtual_pipe_id=3, Dispatch " HEADER SIZES                                     \
		   ", correlation_id=0, rptr=4294967290, wptr=4294967295"
#define LINE_OTHER_PACKET                                                                          \
	PREFIX_7_2 "SWq=0x7fefa8eb6000, HWq=0x7fefa4c00000, id=1, Metadata " HEADER

#define LINE_5_2_CREATED                                                                           \
	PREFIX_5_2 "created hardware queue 0x7ff1953b1000 with size 4096 with priority 1, "        \
		   "cooperative: 0"
#define LINE_7_2_CREATED_3                                                                         \
	PREFIX_7_2_LEVEL_3 "Created SWq=0x7f4fc28b4000 to map on HWq=0x7f4fbc600000 with size "    \
			   "16384 with priority 1, cooperative: 0"
#define LINE_7_2_ACQUIRED PREFIX_7_2 "acquireQueue refCount: 0x7f6f7c200000 (1)"
#define LINE_5_2_SELECTED PREFIX_5_2 "selected queue with least refCount: 0x7ff1953b1000 (3)"
#define LINE_7_2_RELEASED PREFIX_7_2 "releaseQueue refCount:0x7f6e53800000 (0)"
#define LINE_5_2_DELETED PREFIX_5_2 "deleting hardware queue 0x7ff194026000 with refCount 0"
#define LINE_7_2_ABORTED                                                                           \
	PREFIX_7_2 "Callback: Queue 0x7f6f7c200000 aborting with error : "                         \
		   "HSA_STATUS_ERROR_EXCEPTION code: 0x1016"
#define LINE_5_2_POOL                                                                              \
	PREFIX_5_2 "number of allocated hardware queues with low priority: 0, with normal "        \
		   "priority: 3, with high priority: 1, maximum per priority is: 4"

#define LINE_5_2_COPY PREFIX_5_2 "HSA Asycn Copy wait_event=0x0, completion_signal=0x7f4d0d3a2600"
#define LINE_7_2_COPY                                                                              \
	PREFIX_7_2 "HSA Copy copy_engine=0x2, dst=0x7fefa8e70000, src=0x7fefa4200000, "            \
		   "size=65536, forceSDMA=0, engineType=1, wait_event=0x7fefa71ff000, "            \
		   "completion_signal=0x7fefa71fef80"
#define LINE_7_2_STAGED PREFIX_7_2 "HSA Async Copy staged H2D, Async=0"
#define LINE_7_2_KERNEL PREFIX_7_2 "ShaderName : _Z4gemmILi4EEvPf (cut : here)"
#define LINE_5_2_CALL PREFIX_5_2 "\033[32mhipStreamCreate ( 0x564cf365ee68 )\033[0m"
#define LINE_7_2_CALL                                                                              \
	PREFIX_7_2 "\033[32m hipMemcpyAsync ( 0x7fefa4200000, 0x7fefa8e70000, 4, "                 \
		   "hipMemcpyHostToDevice, 0x55629c1752e0 ) \033[0m"
#define LINE_7_2_RETURN PREFIX_7_2 "hipMemcpyAsync: Returned hipSuccess : : duration: 112 us"
#define LINE_7_2_RETURN_ALONE PREFIX_7_2 "hipModuleLoadData: Returned hipErrorNoBinaryForGpu : "

#endif
