/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Our two pages in a target (page.h). Reading them may block, so a reader process does it. What is
 * written is written by the tracer, either through a stopped thread or, bound to the memory that was
 * checked, through /proc/PID/mem, and only where the target's list of mappings shows memory of no file.
 * A target that replaces it by a file in the moment between can still block it: then the tracer is
 * abandoned.
 */
#ifndef INJECT_PYTHON_PAGE_H
#define INJECT_PYTHON_PAGE_H

#include <stdbool.h>
#include <stdint.h>

struct inject_page;
struct procfs;
struct python_tools;
struct python_switch;
struct tracer;

/* 0; -ENOENT: there is no page of ours; another error: it cannot be told. */
int python_page_read(const struct python_switch *s, const struct procfs *procfs,
		     struct inject_page *ret_data);
/* As python_page_read(), of both pages. */
int python_page_check(const struct python_switch *s, const struct procfs *procfs);

/* By the stopped thread, at a safe point: queues a call, and maps the pages before if there are none. s->stage
 * says whether it may be queued. -ETIMEDOUT: a call that came before it did not end. */
int python_page_queue(struct python_switch *s, const struct python_tools *tools,
		      uint64_t deadline_ns);

/* By the stopped thread, which shows that nobody uses them. True: they are unmapped. */
bool python_page_unmap(struct python_switch *s, struct tracer *t, uint64_t deadline_ns);

/* Cancels a call that is queued. 0; -ENOENT: it cannot be; errors of the tracer. */
int python_page_cancel(const struct python_switch *s, const struct python_tools *tools);

#endif
