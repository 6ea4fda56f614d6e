/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the agent places in a target, in two pages of its own: code (inject_code.c) and this
 * structure, through which the two talk. The interpreter calls the code at its next safe point and
 * with the GIL. The code runs no Python, so no signal handler of the program runs in between, and
 * it needs nothing from the agent: an agent that dies leaves a target that works.
 */
#ifndef INJECT_PAGE_H
#define INJECT_PAGE_H

#include <stdint.h>

enum inject_op {
	INJECT_ACTIVATE,
	INJECT_DEACTIVATE,
};

/* Stored by the target. */
enum inject_result {
	INJECT_PENDING,
	INJECT_SWITCHED,  /* it is now as requested, and was not before */
	INJECT_UNCHANGED, /* it already was as requested */
	INJECT_CANCELLED,
	INJECT_FORKED,      /* called in a child that inherited the call */
	INJECT_MISSING,     /* sys has no such functions */
	INJECT_REFUSED,     /* the interpreter raised an exception; it was cleared */
	INJECT_FOREIGN_MAP, /* the file that the interpreter would write to is not its own */
};

struct inject_page;
typedef int (*inject_pending_fn)(void *page);

/* Pointers are addresses in the target. */
struct inject_page {
	/* written by the agent, also while the target runs */
	uint32_t is_cancelled;
	/* written by the target */
	uint32_t is_started;
	uint32_t result;
	uint32_t is_queued; /* queue_result is valid */
	int32_t queue_result;

	uint32_t op;
	int32_t pid;      /* as the target itself sees it */
	uint32_t nr_done; /* calls that were made; written by the target */
	/* It is on, and a call of ours did that. A fork takes this along. Written by the target. */
	uint32_t was_switched_by_us;

	void *(*interpreter_main)(void);
	int (*add_pending_call)(void *interp, inject_pending_fn fn, void *arg, int flags);
	void *(*get_object)(const char *name); /* a borrowed reference */
	void *(*call_function)(void *callable, const char *format, ...);
	int (*is_true)(void *object);
	void (*dec_ref)(void *object);
	void (*clear_error)(void);
	inject_pending_fn pending; /* inject_pending() as placed */

	char active_name[32], activate_name[32], deactivate_name[32];
	char no_args[4], string_arg[4];
	char backend[8];
	char map_path[32]; /* which the interpreter opens when it is switched on */
};

/* The code and its entries. It is copied, and runs wherever it lies. */
extern const unsigned char inject_code_begin[] __asm__("__start_inject_code");
extern const unsigned char inject_code_end[] __asm__("__stop_inject_code");

/* Queues page->pending. Called by the agent at a safe point of a thread. */
void inject_queue(struct inject_page *page);
/* Called by the interpreter. Returns 0. */
int inject_pending(void *page);

#endif
