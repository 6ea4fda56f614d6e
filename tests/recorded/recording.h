/* SPDX-License-Identifier: Apache-2.0 */
/* A thread, stopped at any instruction: its registers, its stack, and what is mapped where. */
#ifndef TESTS_RECORDED_RECORDING_H
#define TESTS_RECORDED_RECORDING_H

#include <stdint.h>

#define RECORDING_MAGIC 0x31636572666170ull /* "pafrec1" */
#define RECORDING_MAX_REGIONS 2
#define RECORDING_RED_ZONE 128
#define RECORDING_MAX_STACK (256u << 10)

/* Followed by the bytes of the regions, one after the other, and by maps, up to the end. */
struct recording {
	uint64_t magic;
	uint64_t machine; /* EM_* */
	uint64_t pc;
	uint64_t regs[32]; /* by DWARF number */
	uint64_t nr_regions;
	struct {
		uint64_t addr, bytes;
	} regions[RECORDING_MAX_REGIONS];
};

#endif
