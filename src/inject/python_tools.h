/* SPDX-License-Identifier: Apache-2.0 */
/* What processes are looked at and changed with. All borrowed. */
#ifndef INJECT_PYTHON_TOOLS_H
#define INJECT_PYTHON_TOOLS_H

struct cancel;
struct interpreter_cache;
struct procfs;
struct tracer;

struct python_tools {
	const struct procfs *procfs;
	struct tracer *tracer;
	struct interpreter_cache *cache;
	const struct cancel *over; /* this target has had its time; NULL: never */
};

#endif
