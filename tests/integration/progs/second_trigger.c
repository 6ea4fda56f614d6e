// SPDX-License-Identifier: Apache-2.0
/*
 * second_trigger SECONDS OUT PID: a session with on-CPU and a trigger of its own, page faults. Writes OUT
 * and what stands beside it; prints each section and what was made once for both.
 */
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "agent/session.h"
#include "collect/events.h"
#include "collect/programs.h"
#include "collect/trigger.h"
#include "sections.h"
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wcast-qual"
#include "page_faults.skel.h"
#pragma GCC diagnostic pop

struct faults {
	uint8_t origin;
	struct page_faults_bpf *skel; /* owned */
	struct events *events;        /* owned */
	const struct programs *programs;
};

static int faults_new(const struct trigger_setup *setup, struct value_types *ret_values,
		      void **ret_state, struct pa_error *err)
{
	static const struct value_type types[] = { { "faults", "count" }, { "memory", "bytes" } };
	struct faults *f = calloc(1, sizeof(*f));

	if (!f)
		return -ENOMEM;
	f->origin = (uint8_t)setup->origin;
	*ret_values = (struct value_types){ .types = types, .nr_types = 2, .shown_type = 1 };
	*ret_state = f;
	return 0;
}

static int faults_attach(void *state, struct programs *p, const struct cpus *online,
			 struct pa_error *err)
{
	const struct perf_event_attr attr = { .type = PERF_TYPE_SOFTWARE,
					      .config = PERF_COUNT_SW_PAGE_FAULTS,
					      .sample_period = 1 };
	struct faults *f = state;
	int r;

	f->programs = p;
	f->skel = page_faults_bpf__open();
	if (!f->skel)
		return -errno;
	f->skel->rodata->cfg = *programs_kernel_config(p);
	f->skel->rodata->origin = f->origin;
	r = programs_share_maps(p, f->skel->obj);
	if (r == 0)
		r = page_faults_bpf__load(f->skel);
	return r < 0 ? r
		     : events_open(&attr, bpf_program__fd(f->skel->progs.pa_page_fault), online,
				   &f->events, err);
}

static int faults_enable(void *state, uint64_t begin_ns)
{
	(void)begin_ns;
	return events_enable(((struct faults *)state)->events);
}

static void faults_disable(void *state, uint64_t end_ns)
{
	(void)end_ns;
	events_disable(((struct faults *)state)->events);
}

static int faults_account(void *state, struct trigger_account *a)
{
	const struct faults *f = state;
	unsigned int nr = cpus_possible();
	struct pa_tick_stats *st = calloc(nr, sizeof(*st)), sum = { 0 };
	__u32 zero = 0;
	int r = st ? bpf_map__lookup_elem(f->skel->maps.fault_stats, &zero, sizeof(zero), st,
					  nr * sizeof(*st), 0)
		   : -ENOMEM;

	for (unsigned int i = 0; i < nr && r == 0; i++) {
		sum.ticks += st[i].ticks;
		sum.submitted += st[i].submitted;
		sum.ring_full += st[i].ring_full;
		sum.nested += st[i].nested;
	}
	a->due = r == 0 ? events_ticks_due(f->events, st, nr) : 0;
	a->submitted = sum.submitted;
	trigger_count(a, "other", "other", f->skel->bss->nr_other);
	trigger_lose(a, "not_delivered", "not delivered by the kernel", a->due - sum.ticks);
	trigger_lose(a, "ring_full", "the sample ring was full", sum.ring_full);
	trigger_lose(a, "nested", "too many samples were under way", sum.nested);
	free(st);
	return r;
}

static void faults_detach(void *state)
{
	struct faults *f = state;

	f->events = events_free(f->events);
	page_faults_bpf__destroy(f->skel);
	f->skel = NULL;
}

static const struct trigger page_faults = {
	.name = "page-faults",
	.unit = "page fault",
	.units = "page faults",
	.create = faults_new,
	.attach = faults_attach,
	.enable = faults_enable,
	.disable = faults_disable,
	.account = faults_account,
	.detach = faults_detach,
	.free = free,
};

static void show(const struct pa_summary *s)
{
	sections_show(s);
	for (size_t i = 0; i < s->nr_outputs; i++)
		printf("output %s %s\n", s->outputs[i].format, s->outputs[i].path);
	printf("tables %llu\n", (unsigned long long)s->nr_tables);
}

/* Places in code that both profiles have, and all places. Their files have the same numbers. */
static bool has_place(const struct profile *p, const struct profile *q, uint32_t location)
{
	const struct profile_location *l = &q->locations[location];
	const struct profile_mapping *m = l->mapping == PROFILE_NONE ? NULL
								     : &q->mappings[l->mapping];

	for (uint32_t i = 0; m && i < p->nr_locations; i++) {
		const struct profile_location *k = &p->locations[i];
		const struct profile_mapping *n =
			k->mapping == PROFILE_NONE ? NULL : &p->mappings[k->mapping];

		if (n && n->kind == m->kind && n->owner == m->owner &&
		    k->address - n->start + n->file_offset ==
			    l->address - m->start + m->file_offset)
			return true;
	}
	return false;
}

static void show_names(const struct pa_session *s)
{
	const struct pa_summary *sum = pa_session_summary(s);
	const struct profile *ticks = s->models[0].now->profile,
			     *faults = s->models[1].now->profile;
	uint32_t nr_common = 0;

	for (uint32_t i = 0; i < faults->nr_locations; i++)
		nr_common += has_place(ticks, faults, i);
	printf("names places %u common %u shared %llu addresses %llu\n",
	       ticks->nr_locations + faults->nr_locations - nr_common, nr_common,
	       (unsigned long long)sum->naming_shared, (unsigned long long)sum->naming_addresses);
}

int main(int argc, char **argv)
{
	static const struct trigger *const triggers[] = { &trigger_oncpu, &page_faults };
	const struct session_config cfg = { triggers, 2 };
	pid_t pid = argc > 3 ? (pid_t)strtol(argv[3], NULL, 10) : 0;
	const struct pa_output outs[] = {
		{ .sz = sizeof(outs[0]), .format = "pprof", .path = argc > 2 ? argv[2] : NULL },
		{ .sz = sizeof(outs[0]), .format = "folded", .path = "stacks.folded" },
	};
	struct pa_options o = { .sz = sizeof(o),
				.pids = &pid,
				.nr_pids = 1,
				.sample_rate_hz = 499,
				.outputs = outs,
				.nr_outputs = 2 };
	struct pa_session *s = NULL;
	struct pa_error err = { 0 };
	int r = session_new(&cfg, &o, &s, &err);

	if (r == 0)
		r = pa_session_start(s, &err);
	if (r == 0) {
		sleep((unsigned int)strtoul(argv[1], NULL, 10));
		r = pa_session_stop(s, &err);
	}
	if (r < 0)
		fprintf(stderr, "second_trigger: %s\n", err.text);
	else {
		show(pa_session_summary(s));
		show_names(s);
	}
	pa_session_free(s);
	return r == 0 ? 0 : 1;
}
