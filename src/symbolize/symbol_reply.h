/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reply to a job (symbol_job.h): one answer per item, its frames, and their strings. The bytes are
 * checked when they are read, because the process that wrote them may have been taken over by the file
 * it read.
 */
#ifndef SYMBOLIZE_SYMBOL_REPLY_H
#define SYMBOLIZE_SYMBOL_REPLY_H

#include "base/buf.h"
#include "base/strtab.h"
#include "symbolize/symbolizer_jit.h"

#define SYMBOL_REPLY_MAX_BYTES (3ull << 30)
#define SYMBOL_ANSWER_MAX_FRAMES 1024

enum symbol_answer_flags {
	SYMBOL_IS_NAMED = 1 << 0, /* see struct symbol_result, like the next two */
	SYMBOL_IS_RAW = 1 << 1,
	SYMBOL_IS_REUSED = 1 << 2,
	SYMBOL_IS_OUTSIDE = 1 << 3, /* the file has no code there */
	SYMBOL_NO_ROOM = 1 << 4,    /* out of memory, or over a limit: see head.replaced */
};

struct symbol_answer {
	uint32_t first_frame;
	uint32_t nr_frames; /* 0: out of memory for all of them */
	uint32_t flags;
};

/* One function at an address, innermost first; strings are offsets. */
struct symbol_reply_frame {
	uint32_t name, system_name, filename; /* filename: "" if unknown */
	uint32_t line, start_line;
};

struct symbol_reply_head {
	uint32_t nr_answers, nr_frames, strings_bytes;
	uint32_t is_raw;                /* the source knows no symbols at all */
	uint32_t missing, lines, limit; /* enum symbol_why; see struct symbolizer */
	uint32_t replaced;              /* enum symbol_why: why answers are SYMBOL_NO_ROOM */
	uint64_t lines_cpu_ns;          /* CPU time for lines, if it was limited; otherwise 0 */
	struct jit_counts jit_counts;
};

/* A reply that is being assembled. */
struct symbol_reply_draft {
	struct symbol_reply_head head;
	struct symbol_answer *answers;     /* owned; by item */
	struct symbol_reply_frame *frames; /* owned; strings are numbers in the table below */
	uint32_t cap_frames;
	struct strtab strings;
};

int symbol_reply_draft_init(struct symbol_reply_draft *d, uint32_t nr_items); /* -ENOMEM */
void symbol_reply_draft_done(struct symbol_reply_draft *d);

/* Copies the result of an item. -ENOMEM, -E2BIG: the item has no frames then. */
int symbol_reply_draft_add(struct symbol_reply_draft *d, uint32_t item,
			   const struct symbol_result *res, uint32_t flags);

/* Writes the reply. -ENOMEM, -E2BIG. */
int symbol_reply_write(const struct symbol_reply_draft *d, struct buf *to);

/* All members but bytes are borrowed from bytes. All zero: no reply. */
struct symbol_reply {
	struct buf bytes; /* owned */
	const struct symbol_reply_head *head;
	const struct symbol_answer *answers;
	const struct symbol_reply_frame *frames;
	const char *strings;
};

/* Takes the bytes. -EBADMSG: they are not the reply to a job with that many items. */
int symbol_reply_read(struct buf *bytes, uint32_t nr_items, struct symbol_reply *ret_reply);
void symbol_reply_done(struct symbol_reply *r);

#endif
