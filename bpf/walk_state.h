/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Where a walk stands between two frames. */
#ifndef BPF_WALK_STATE_H
#define BPF_WALK_STATE_H

#include "abi.h"
#include "rows.h"

#define PA_NR_REGS 32         /* general registers by their DWARF numbers; a power of two */
#define PA_WINDOW_BYTES 1024u /* of the stack, read at once; bigger gains nothing (measured) */

/* Keeps the compiler from proving things about an index that the verifier cannot follow. */
#define PA_PIN(x) asm volatile("" : "+r"(x))

/* A piece of code of one process. Sorted by start; generation is the process's, and a mapping that
 * carries another one has been given to somebody else since. */
struct pa_mapping {
	__u64 start, end;  /* run-time addresses */
	__u64 bias;        /* run-time address - bias = link-time address */
	__u32 block_nr0;   /* of link-time blocks (address >> PA_BLOCK_SHIFT): the table's first */
	__u32 nr_blocks;   /* 0: the file has no table; PA_BLOCKS_PENDING: it is not ready yet */
	__u32 first_block; /* index into the directory */
	__u32 generation;
};
_Static_assert(sizeof(struct pa_mapping) == 40, "changed: bump PA_ABI_VERSION");
#define PA_BLOCKS_PENDING 0xffffffffu
#define PA_FIRST_BLOCK_RECORDS 1u /* where nr_blocks is 0: code that keeps frame records */

/* A process's slice of the mappings. */
struct pa_process {
	__u32 first;
	__u32 nr;
	__u32 generation; /* new with every change; 0 is nobody's */
	__u32 epoch;      /* another one when one of its mappings is found to be gone */
	__u32 nr_astray;  /* walks that were in code which is not among them */
};
_Static_assert(sizeof(struct pa_process) == 20, "changed: bump PA_ABI_VERSION");

/* Where the frame record of the function at an exact pc is, as far as its code shows. */
enum pa_record_place {
	PA_RECORD_AT_FP,
	PA_RECORD_AT_SP, /* just pushed */
	PA_RECORD_NONE,  /* just called, or about to return */
};

/* What can be mapped at an address. */
enum pa_code_kind {
	PA_CODE_NONE,
	PA_CODE_TABLE, /* of a file that has a table, or may get one */
	PA_CODE_BARE,  /* of one that has none, or made at run time */
};

struct pa_walk {
	__u64 pc;
	__u64 sp; /* every frame lies above it */
	__u64 fp;
	__u64 lr;               /* AArch64 */
	__u64 regs[PA_NR_REGS]; /* of the sampled frame */
	__u32 nr;               /* frames found so far, the sampled one included */
	__u32 stop;             /* enum pa_stop, once the walk is over */
	__u32 nr_looked;        /* words that were looked at for the frames of others */
	__u8 is_exact;          /* pc is where it stands, not a return address */
	__u8 has_fp;            /* fp is known */
	__u8 has_regs;          /* regs are this frame's: only the sampled one's */
	__u8 has_lr;            /* lr is: the sampled one's, and one that a signal interrupted */
	__u8 is_interrupted;    /* by a signal: the frame before is the code that handlers return
				 * to, and they return to its first byte */
	__u8 in_syscall;        /* the sampled pc is behind the instruction that made it */
	__u8 is_bare;           /* nothing describes the code at pc: no rule, or no table */
	__u8 is_sp_low;         /* the frame before was left by its record alone, which does not say
				 * what else its function takes off the stack: sp may be higher */

	struct pa_process process;
	struct pa_mapping mapping; /* the last one used */

	__u64 window_at; /* address of window[0]; 0: nothing has been read */
	__u64 window[PA_WINDOW_BYTES / 8];
#ifdef __bpf__
	__u32 cache_at0; /* where this CPU's slice of the rule cache begins */
#else
	void *env; /* of whoever defines pa_walk_read() and pa_walk_rule() */
#endif
};

#endif
