/* SPDX-License-Identifier: Apache-2.0 */
/* Switches the trampoline of a process on and off: inject_driver PID ROUNDS. Prints what became of
 * each round that did not do both. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "inject/python_switch.h"
#include "inject/python_tools.h"
#include "inject/tracer.h"
#include "proc/procfs.h"

#define DEADLINE_NS (5 * NS_PER_S)

static enum python_outcome run(struct python_switch *s, const struct python_tools *tools,
			       enum inject_op op)
{
	uint64_t end_ns = clock_mono_ns() + DEADLINE_NS;

	python_switch_begin(s, op);
	while (s->stage != PYTHON_SETTLED && clock_mono_ns() < end_ns) {
		python_switch_step(s, tools);
		if (s->stage != PYTHON_SETTLED)
			usleep(500);
	}
	for (end_ns += DEADLINE_NS; s->stage != PYTHON_SETTLED && clock_mono_ns() < end_ns;
	     usleep(500))
		python_switch_give_up(s, tools);
	for (int i = 0; i < 500 && s->stage != PYTHON_SETTLED; i++) { /* the call has begun */
		python_switch_step(s, tools);
		usleep(1000);
	}
	return s->outcome;
}

int main(int argc, char **argv)
{
	struct interpreter_cache cache = { 0 };
	struct procfs procfs;
	struct python_tools tools = { .procfs = &procfs, .cache = &cache };
	long rounds = argc > 2 ? strtol(argv[2], NULL, 10) : 0;
	long nr_both = 0, nr_cleaned = 0;
	struct python_switch s;

	if (argc != 3 || procfs_open("/proc", &procfs) < 0 ||
	    tracer_new(procfs.fd, NULL, &tools.tracer) < 0)
		return 2;
	python_switch_init(&s, &procfs, (pid_t)strtol(argv[1], NULL, 10));
	for (long i = 0; i < rounds; i++) {
		enum python_outcome on = run(&s, &tools, INJECT_ACTIVATE), off = on;

		if (s.is_on)
			off = run(&s, &tools, INJECT_DEACTIVATE);
		if (on == PYTHON_SWITCHED && off == PYTHON_SWITCHED)
			nr_both++;
		else
			printf("round %ld: %s, %s\n", i, python_outcome_key(on),
			       python_outcome_key(off));
		if (off == PYTHON_GONE)
			break;
	}
	for (int i = 0; i < 200 && s.page && !nr_cleaned; i++) {
		nr_cleaned = python_switch_clean(&s, &tools);
		usleep(1000);
	}
	printf("both=%ld cleaned=%ld\n", nr_both, nr_cleaned);
	tracer_free(tools.tracer);
	interpreter_cache_done(&cache);
	procfs_close(&procfs);
	return 0;
}
