/* SPDX-License-Identifier: Apache-2.0 */
/* A world, a pipe and one model at its end: what the session puts together for one trigger. */
#ifndef TESTS_CAPTURE_H
#define TESTS_CAPTURE_H

#include <errno.h>
#include <stdlib.h>

#include "capture/pipe.h"
#include "model/model.h"

struct capture {
	struct world *world; /* owned, as are the others */
	struct pipe *pipe;
	struct model *model;
};

static inline struct capture *capture_free(struct capture *c)
{
	if (!c)
		return NULL;
	pipe_free(c->pipe);
	model_free(c->model);
	world_free(c->world);
	free(c);
	return NULL;
}
DEFINE_CLEANUP(struct capture *, capture_free)

static const struct value_type cpu_types[] = { { "samples", "count" }, { "cpu", "nanoseconds" } };
static const struct value_types cpu_values = { cpu_types, 2, 0, 0, 1, 1000000 };

static inline int capture_new(const struct world_config *cfg, const struct log *log,
			      struct capture **ret_capture)
{
	_cleanup_(capture_freep) struct capture *c = calloc(1, sizeof(*c));
	struct model_config model = { .values = &cpu_values };
	int r = c ? world_new(cfg, log, &c->world) : -ENOMEM;

	if (r == 0)
		r = pipe_new(c->world, &c->pipe);
	if (r == 0)
		r = model_new(&model, c->world, &c->model);
	if (r == 0)
		r = pipe_add_sink(c->pipe, 0, &c->model->sink);
	if (r < 0)
		return r;
	*ret_capture = TAKE(c);
	return 0;
}

struct capture_stats {
	struct pipe_stats pipe;
	struct model_stats model;
};

static inline struct capture_stats capture_all_stats(const struct capture *c)
{
	return (struct capture_stats){ *pipe_stats(c->pipe, 0), c->model->stats };
}

/* Whether every record ended in one place. */
static inline bool capture_adds_up(const struct capture_stats *st)
{
	return st->pipe.nr_records == st->pipe.nr_bad + st->pipe.nr_no_memory + st->model.nr_kept +
					      st->model.nr_full + st->model.nr_no_memory;
}

static inline int capture_name(struct capture *c, const atomic_bool *cancel)
{
	return model_name(c->model, cancel);
}

static inline int capture_scan(struct capture *c, pid_t pid)
{
	return world_scan(c->world, pid);
}

static inline void capture_compile_first(struct capture *c)
{
	world_compile_first(c->world);
}

static inline int capture_use_tables(struct capture *c, struct tables *tables)
{
	return world_use_tables(c->world, tables);
}

static inline void capture_begin_turn(struct capture *c)
{
	pipe_begin_turn(c->pipe);
}

static inline int capture_record(struct capture *c, const void *bytes, size_t size)
{
	return pipe_record(c->pipe, bytes, size);
}

static inline int capture_event(struct capture *c, const struct process_event *e)
{
	return pipe_event(c->pipe, e);
}

static inline int capture_settle(struct capture *c, bool is_last)
{
	return pipe_settle(c->pipe, is_last);
}

static inline bool capture_is_in_a_hurry(const struct capture *c)
{
	return pipe_is_in_a_hurry(c->pipe);
}

static inline const struct pipe_stats *capture_stats(const struct capture *c)
{
	return pipe_stats(c->pipe, 0);
}

#endif
