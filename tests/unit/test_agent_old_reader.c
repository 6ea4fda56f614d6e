/* SPDX-License-Identifier: Apache-2.0 */
/* A structure in a list of the summary may get a member: programs that do not know it read on. */
#include "agent/summary.h"
#include "capture.h"
#include "model.h"
#include "old_reader.h"
#include "replay.h"

static struct capture *new_capture(void)
{
	struct world_config cfg = { .proc_root = "/proc", .all = true, .max_fds = 4 };
	struct profile *p = model_example();
	struct capture *c;

	must(capture_new(&cfg, NULL, &c) == 0);
	profile_free(c->model->profile);
	c->model->profile = p;
	must(model_init_labels(c->model) == 0);
	c->model->naming.notes =
		calloc((size_t)p->nr_mappings + 1, sizeof(*c->model->naming.notes));
	must(c->model->naming.notes);
	return c;
}

int main(void)
{
	_cleanup_(capture_freep) struct capture *c = new_capture();
	_cleanup_(summary_freep) struct summary *sum = NULL;
	const struct pa_summary *s;
	bool is_same = true;

	must(summary_of_model(c->model, NULL, &sum) == 0);
	must(summary_add_digest(sum, c->model->profile, 100) == 0);
	s = summary_get(sum);
	ok(old_size_of_count() < sizeof(struct pa_count) &&
		   old_size_of_function() < sizeof(struct pa_function_stat),
	   "an old program has smaller structures");
	ok(s->nr_naming_failures > 1 && s->nr_functions > 1,
	   "the summary has lists of several items");
	for (size_t i = 0; i < s->nr_naming_failures; i++)
		is_same &= old_failure_name(s, i) == s->naming_failures[i].name;
	ok(is_same, "an old program finds each of %zu counts", s->nr_naming_failures);
	is_same = true;
	for (size_t i = 0; i < s->nr_functions; i++)
		is_same &= old_function_name(s, i) == s->functions[i].name;
	ok(is_same, "an old program finds each of %zu functions", s->nr_functions);
	return tap_done();
}
