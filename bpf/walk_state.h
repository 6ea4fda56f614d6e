/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The state of a walk between two frames. */
#ifndef BPF_WALK_STATE_H
#define BPF_WALK_STATE_H

#include "abi.h"
#include "rows.h"

#define PA_NR_REGS 32 /* general registers by their DWARF numbers; a power of two */

/*
 * The stack is read in windows, because a read costs as much as a walk of several frames. Each is twice
 * as big as the one before: a shallow stack is not read far beyond its end, and a deep one takes few reads.
 */
#define PA_FIRST_WINDOW_BYTES 1024u
#define PA_WINDOW_BYTES 4096u /* at most; a power of two */

#define PA_INLINE static inline __attribute__((always_inline))

/* Hides a value from the compiler, so that it cannot rely on bounds that the verifier cannot
 * follow. */
#define PA_PIN(x) asm volatile("" : "+r"(x))

/* A range of code of one process. Sorted by start. generation is that of the process: a mapping
 * with another one belongs to another process by now. */
struct pa_mapping {
	__u64 start, end; /* run-time addresses */
	__u64 bias;       /* run-time address - bias = link-time address */
	/* the first block of the table, in link-time blocks (address >> PA_BLOCK_SHIFT) */
	__u32 block_nr0;
	__u32 nr_blocks;   /* 0: the file has no table; PA_BLOCKS_PENDING: it is not ready yet */
	__u32 first_block; /* index into the directory */
	__u32 generation;
};
_Static_assert(sizeof(struct pa_mapping) == 40, "changed: bump PA_ABI_VERSION");
#define PA_BLOCKS_PENDING 0xffffffffu
#define PA_FIRST_BLOCK_RECORDS 1u /* if nr_blocks is 0: code that keeps frame records */

/* The mappings of a process. */
struct pa_process {
	__u32 first;
	__u32 nr;
	__u32 generation; /* new with every change; 0 is never used */
	__u32 epoch;      /* changes when one of its mappings is found to be gone */
	__u32 nr_misses;  /* walks that ended in code without a mapping */
};
_Static_assert(sizeof(struct pa_process) == 20, "changed: bump PA_ABI_VERSION");

/* Where the frame record of the function at an exact pc is, as far as its code shows. */
enum pa_record_place {
	PA_RECORD_AT_FP,
	PA_RECORD_AT_SP, /* just pushed */
	PA_RECORD_NONE,  /* not pushed yet, or popped already */
};

/* What is mapped at an address. */
enum pa_code_kind {
	PA_CODE_NONE,
	PA_CODE_TABLE, /* code of a file that has a table, or may get one */
	PA_CODE_BARE,  /* code of a file that has no table, or generated code */
};

/* What every walk touches comes first, in three cache lines. */
struct pa_walk {
	__u64 pc;
	__u64 sp; /* every caller's frame lies above it */
	__u64 fp;
	__u64 lr;        /* AArch64 */
	__u64 window_at; /* address of window[0]; 0: it is empty */
	__u32 nr;        /* frames found so far, the sampled one included */
	__u32 stop;      /* enum pa_stop, once the walk is over */
	__u32 nr_looked; /* words searched for skipped frames */
	__u8 is_exact;   /* pc is exact, not a return address */
	__u8 has_fp;     /* fp is known */
	__u8 has_regs;   /* regs belong to this frame; only those of the sampled frame are known */
	__u8 has_lr; /* lr is known: in the sampled frame, and in one that a signal interrupted */
	/* by a signal; the previous frame is the code that handlers return to, at its first byte */
	__u8 is_interrupted;
	__u8 in_syscall; /* the sampled pc is after the system call instruction */
	__u8 is_bare;    /* the code at pc has no rule, or no table */
	/* the previous frame was left by its record, which does not show how much its function
	 * removes from the stack: sp may be higher */
	__u8 is_sp_low;

	__u32 window_bytes; /* read at once the last time; 0: not yet */
	__u32 cached_next; /* where the rule of the next frame may be in the cache (walk_plain.h) */
#ifdef __bpf__
	__u64 rule_owner; /* the owner of this process's rules in the cache */
	__u32 level;      /* nesting level: which scratch this walk is in */
	__u32 cpu;
	__u16 syscall_nr; /* if in_syscall */
#else
	void *env; /* for the includer's pa_walk_read() and pa_walk_rule() */
#endif
	struct pa_process process;
	__u64 own_sp; /* where the walk last entered the thread's own stack; 0: not yet */
	struct pa_mapping mapping; /* the mapping used last */
	struct pa_go go;           /* Go's state, if it is a Go thread */

	__u64 regs[PA_NR_REGS]; /* of the sampled frame */
	__u64 window[PA_WINDOW_BYTES / 8];
};

#endif
