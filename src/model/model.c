/* SPDX-License-Identifier: Apache-2.0 */
#include "model/model.h"

#include <errno.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/hash.h"

#define KERNEL_START 0x8000000000000000ull /* the upper half, including modules and BPF programs */
#define MAX_PROCESSES (1u << 24)

/* Releases what is held open for the model. Returns true if it was the last one. */
static bool uncount(struct model *m)
{
	if (!m->is_counted)
		return false;
	m->is_counted = false;
	return atomic_fetch_sub(&m->world->nr_unnamed_models, 1) == 1;
}

/* Under world_lock(): releases what was held for its symbols. */
static void let_go(struct model *m)
{
	for (uint32_t i = 0; i < m->nr_files; i++) {
		if (m->files[i].is_held)
			filestore_unref(m->world->files, i);
		m->files[i].is_held = false;
	}
	while (m->nr_held_programs)
		jit_files_let_go(m->world->jit, m->jit.programs[--m->nr_held_programs].id);
	m->has_held = false;
}

struct model *model_free(struct model *m)
{
	if (!m)
		return NULL;
	(void)uncount(m);
	if (m->has_held) {
		world_lock(m->world);
		let_go(m);
		world_unlock(m->world);
	}
	profile_free(m->profile);
	naming_job_done(&m->naming);
	jit_samples_done(&m->jit);
	model_waits_done(&m->waits);
	idtable_done(&m->process_index);
	free(m->processes);
	free(m->cgroups);
	free(m->files);
	free(m);
	return NULL;
}

static int init_types(struct profile *p, const struct model_config *cfg)
{
	const struct value_types *v = cfg->values;
	int r = 0;

	for (uint32_t i = 0; i < v->nr_types && r == 0; i++)
		r = profile_add_type(p, v->types[i].type, v->types[i].unit);
	if (r < 0)
		return r;
	p->count_type = v->count_type;
	p->shown_type = v->shown_type;
	p->default_type = v->default_type;
	p->period_type = p->types[v->default_type];
	p->period = (int64_t)v->period;
	for (size_t i = 0; i < cfg->nr_tags && r == 0; i++)
		r = profile_add_comment(p, cfg->tags[i]);
	return r;
}

static void on_sample(void *ctx, const struct sample *s);

int model_new(const struct model_config *cfg, struct world *w, struct model **ret_model)
{
	_cleanup_(model_freep) struct model *m = calloc(1, sizeof(*m));
	int r;

	if (cfg->values->nr_types > SAMPLE_MAX_VALUES)
		return -EINVAL;
	if (!m)
		return -ENOMEM;
	m->world = w;
	m->sink = (struct sample_sink){ .on_sample = on_sample,
					.on_sum = model_add_sum,
					.on_settled = model_settle_waits,
					.ctx = m };
	if (cfg->program_pid)
		m->sink.on_event = model_follow_program;
	m->program_pid = cfg->program_pid;
	m->has_kernel_stacks = cfg->kernel_stacks;
	m->process_labels = cfg->process_labels;
	m->waits.max = MODEL_MAX_WAITS;
	naming_job_init(&m->naming);
	jit_samples_init(&m->jit, cfg->values->nr_types);
	r = profile_new(&m->profile);
	if (r == 0)
		r = model_init_labels(m);
	if (r == 0)
		r = init_types(m->profile, cfg);
	if (r == 0 && cfg->program)
		r = profile_string(m->profile, cfg->program, &m->profile->program);
	if (r < 0)
		return r;
	m->is_counted = true;
	atomic_fetch_add(&w->nr_unnamed_models, 1);
	*ret_model = TAKE(m);
	return 0;
}

void model_count_outcome(struct model *m, int r, uint64_t nr)
{
	if (r == 0)
		m->stats.nr_kept += nr;
	else if (r == -ENOMEM)
		m->stats.nr_no_memory += nr;
	else
		m->stats.nr_full += nr;
}

void model_stats_add(struct model_stats *to, const struct model_stats *more)
{
	if (!to->first_ns || (more->first_ns && more->first_ns < to->first_ns))
		to->first_ns = more->first_ns;
	to->nr_kept += more->nr_kept;
	to->nr_full += more->nr_full;
	to->nr_no_memory += more->nr_no_memory;
	to->nr_without_stack += more->nr_without_stack;
	to->nr_processes += more->nr_processes;
	to->nr_in_kernel += more->nr_in_kernel;
	to->nr_walked_again += more->nr_walked_again;
	to->nr_finished += more->nr_finished;
	to->nr_untimed += more->nr_untimed;
	for (unsigned int i = 0; i < PA_NR_STOPS; i++)
		to->stops[i] += more->stops[i];
}

void model_account_add(struct model_account *to, const struct model *m)
{
	model_stats_add(&to->stats, &m->stats);
	naming_stats_add(&to->naming, &m->naming.stats);
	jit_counts_add(&to->jit, &m->naming.jit_counts);
}

void model_leave(struct model *m, struct model_account *to)
{
	model_account_add(to, m);
	m->account = to;
}

/* Corrects the counts: placing samples by their time may have dropped some over a limit. */
static void account_for_names(struct model *m, const struct model_stats *before)
{
	struct model_stats *to = &m->account->stats;

	to->nr_kept -= before->nr_kept - m->stats.nr_kept;
	to->nr_full += m->stats.nr_full - before->nr_full;
	to->nr_without_stack += m->stats.nr_without_stack - before->nr_without_stack;
	to->nr_no_memory += m->stats.nr_no_memory - before->nr_no_memory;
	to->nr_untimed += m->stats.nr_untimed - before->nr_untimed;
	naming_stats_add(&m->account->naming, &m->naming.stats);
	jit_counts_add(&m->account->jit, &m->naming.jit_counts);
}

/* ---- frames ---- */

/* A sample that is being added to the profile. */
struct adding {
	struct model *m;
	const struct sample *s;
	uint32_t locations[PROFILE_MAX_FRAMES];
	uint32_t nr;
	uint32_t labels;   /* valid once the sample is kept */
	bool has_jit_code; /* one of its frames is JIT code */
};

static int intern_file(struct model *m, uint32_t file, struct file_strings *to)
{
	const struct file_info *info;
	char hex[BUILD_ID_HEX_SIZE];
	int r = world_file_info(m->world, file, &info);

	if (r == 0)
		r = profile_string(m->profile, filestore_get(m->world->files, file)->path,
				   &to->path);
	if (r == 0)
		r = profile_string(m->profile, build_id_hex(&info->build_id, hex), &to->build_id);
	to->is_known = r == 0;
	return r;
}

int model_hold_file(struct model *m, uint32_t file)
{
	int r = ARRAY_RESERVE(m->files, m->cap_files, file + 1, UINT32_MAX);

	if (r < 0)
		return r;
	while (m->nr_files <= file)
		m->files[m->nr_files++] = (struct file_strings){ 0 };
	if (!m->files[file].is_held)
		filestore_ref(m->world->files, file);
	m->files[file].is_held = m->has_held = true;
	return 0;
}

static int file_strings(struct model *m, uint32_t file, const struct file_strings **ret_strings)
{
	int r = model_hold_file(m, file);

	if (r < 0)
		return r;
	*ret_strings = &m->files[file];
	return m->files[file].is_known ? 0 : intern_file(m, file, &m->files[file]);
}

static int add_file_mapping(struct model *m, const struct mapping *from, struct profile_mapping *to)
{
	const struct file_strings *strings;
	int r = file_strings(m, from->file, &strings);

	if (r < 0)
		return r;
	to->kind = PROFILE_MAPPING_FILE;
	to->owner = from->file;
	to->path = strings->path;
	to->build_id = strings->build_id;
	return 0;
}

/* The profile's mapping that corresponds to one of a process. */
static int add_mapping(struct adding *a, const struct frame *f, uint32_t *ret_id)
{
	struct profile *p = a->m->profile;
	struct profile_mapping to = { .start = f->mapping->start,
				      .limit = f->mapping->end,
				      .file_offset = f->mapping->offset };
	int r;

	/* bytes of another program at that address are different code */
	if (f->kind == FRAME_JIT) {
		to.kind = PROFILE_MAPPING_JIT;
		to.owner = a->s->program;
		r = profile_string(p, "[jit]", &to.path);
		/* Treated as code without a file, except for its address. */
		if (r == 0 && f->mapping->kind == MAPPING_FILE)
			r = model_hold_file(a->m, f->mapping->file);
	} else if (f->mapping->kind == MAPPING_VDSO) {
		to.kind = PROFILE_MAPPING_VDSO;
		r = profile_string(p, "[vdso]", &to.path);
	} else {
		r = add_file_mapping(a->m, f->mapping, &to);
	}
	return r < 0 ? r : profile_mapping(p, &to, ret_id);
}

static int add_location(struct adding *a, uint32_t mapping, uint64_t address)
{
	return profile_location(a->m->profile, mapping, address, &a->locations[a->nr++]);
}

static int add_kernel_frame(struct adding *a, const struct frame *f)
{
	struct profile *p = a->m->profile;
	struct profile_mapping m = { .kind = PROFILE_MAPPING_KERNEL,
				     .start = KERNEL_START,
				     .limit = UINT64_MAX };
	uint32_t id;
	int r = profile_string(p, "[kernel]", &m.path);

	if (r == 0)
		r = profile_mapping(p, &m, &id);
	return r < 0 ? r : add_location(a, id, f->address);
}

static int add_native_frame(struct adding *a, const struct frame *f)
{
	uint32_t id;
	int r;

	if (!f->mapping)
		return add_location(a, PROFILE_NONE, f->address);
	r = add_mapping(a, f, &id);
	return r < 0 ? r
		     : add_location(a, id,
				    a->m->profile->mappings[id].start +
					    (f->address - f->mapping->start));
}

static void hold_programs(struct model *m)
{
	for (; m->nr_held_programs < m->jit.nr_programs; m->has_held = true)
		jit_files_hold(m->world->jit, m->jit.programs[m->nr_held_programs++].id);
}

void model_add_jit_address(struct model *m, uint64_t program, uint64_t address, uint64_t time_ns)
{
	const struct jit_address one = { .addr = address, .time_ns = time_ns };

	(void)jit_samples_add_address(&m->jit, program, &one);
	hold_programs(m);
}

/* A new location in code without a file: its symbol files must be opened while they exist. */
static int add_jit_frame(struct adding *a, const struct frame *f)
{
	uint32_t nr = a->m->profile->nr_locations;
	int r = add_native_frame(a, f);

	a->has_jit_code = true;
	if (r < 0 || a->m->profile->nr_locations == nr)
		return r;
	jit_files_look(a->m->world->jit, a->s->process, a->s->pid, a->s->time_ns);
	model_add_jit_address(a->m, a->s->program, f->address, a->s->time_ns);
	return 0;
}

/* If the model has no room for a name, it shows the address. */
static int name_now(struct model *m, uint32_t location, const struct frame_name *name)
{
	struct profile *p = m->profile;
	struct profile_function fn = { .mapping = PROFILE_NONE, .start_line = name->start_line };
	struct profile_line line = { .line = name->line };
	int r = profile_string(p, name->function, &fn.name);

	fn.system_name = fn.name;
	if (r == 0)
		r = profile_string(p, name->file, &fn.filename);
	if (r == 0)
		r = profile_function(p, &fn, &line.function);
	return r < 0 ? r : profile_set_lines(p, location, &line, 1, true);
}

/* Auxiliary words are specific to a program. */
static int add_typed_frame(struct adding *a, const struct frame *f)
{
	struct profile *p = a->m->profile;
	struct profile_location place = { .mapping = PROFILE_NONE,
					  .kind = f->type->kind,
					  .address = f->address,
					  .version = a->s->program,
					  .aux = { f->aux[0], f->aux[1] } };
	uint32_t nr = p->nr_locations, *id = &a->locations[a->nr];
	struct frame_name name;
	int r = profile_place(p, &place, id);

	if (r < 0)
		return r;
	a->nr++;
	if (p->nr_locations > nr && f->type->name && f->type->name(f->type->ctx, a->s, f, &name))
		(void)name_now(a->m, *id, &name);
	return 0;
}

/* Kinds whose data may be gone at the end are resolved at once. */
static int (*const add_frame[NR_FRAME_KINDS])(struct adding *a, const struct frame *f) = {
	[FRAME_KERNEL] = add_kernel_frame,
	[FRAME_NATIVE] = add_native_frame,
	[FRAME_JIT] = add_jit_frame,
	[FRAME_TYPED] = add_typed_frame,
};

/* ---- samples ---- */

static bool is_process(const void *owner, uint32_t id, const void *key)
{
	return ((const struct model *)owner)->processes[id] == *(const uint64_t *)key;
}

uint64_t model_process_of(const struct sample *s)
{
	return s->process ? process_id(s->process) : ~(uint64_t)s->pid;
}

int model_count_process(struct model *m, uint64_t id)
{
	uint64_t h = hash_mix(0, id);
	uint32_t at;
	int r;

	if (idtable_find(&m->process_index, h, is_process, m, &id, &at))
		return 0;
	r = ARRAY_RESERVE(m->processes, m->cap_processes, m->nr_processes + 1, MAX_PROCESSES);
	if (r == 0)
		r = idtable_reserve(&m->process_index);
	if (r < 0)
		return r;
	m->processes[m->nr_processes] = id;
	idtable_insert(&m->process_index, h, m->nr_processes++);
	m->stats.nr_processes++;
	return 0;
}

/* Adds the sample to the profile, unless its values or its code version are determined at the
 * end. */
static int add_values(struct adding *a, uint32_t stack, uint32_t labels)
{
	const struct sample *s = a->s;
	struct jit_moment moment = { s->time_ns, stack, labels, 0 };
	int r = a->has_jit_code ? jit_files_has_dump(a->m->world->jit, s->process, s->time_ns) : 0;

	if (s->wait)
		return model_know_wait(a->m, s, stack, labels, r > 0);
	if (r > 0)
		r = jit_samples_keep(&a->m->jit, s->program, &moment, s->values) ?: 1;
	if (r > 0)
		return 0;
	a->m->stats.nr_untimed += r < 0;
	return profile_add(a->m->profile, stack, labels, s->values);
}

static int add_sample(struct adding *a)
{
	const struct sample *s = a->s;
	uint32_t stack;
	int r = s->nr_frames > PROFILE_MAX_FRAMES ? -E2BIG : 0;

	for (uint32_t i = 0; i < s->nr_frames && r == 0; i++)
		r = add_frame[s->frames[i].kind](a, &s->frames[i]);
	if (r == 0)
		r = model_count_process(a->m, model_process_of(s));
	if (r == 0)
		r = profile_stack_of(a->m->profile, s->user, a->locations, a->nr, &stack);
	if (r == 0)
		r = model_label_set(a->m, s, &a->labels);
	return r < 0 ? r : add_values(a, stack, a->labels);
}

static void on_sample(void *ctx, const struct sample *s)
{
	struct model *m = ctx;
	struct model_stats *st = &m->stats;
	struct adding a;
	int r;

	a.m = m;
	a.s = s;
	a.nr = 0;
	a.has_jit_code = false;
	r = add_sample(&a);
	if (s->wait)
		/* it is counted with its values; if the stack is lost, they are counted as lost */
		return;
	model_count_outcome(m, r, 1);
	if (r < 0)
		return;
	st->nr_walked_again += s->was_walked_again;
	st->stops[s->stop]++;
	st->nr_in_kernel += s->is_in_kernel;
	if (s->is_in_kernel)
		profile_count_in_kernel(m->profile, a.labels, s->values[m->profile->count_type]);
	st->nr_finished += s->is_finished;
	if (!st->first_ns || s->time_ns < st->first_ns)
		st->first_ns = s->time_ns;
}

/* ---- names ---- */

/* Cancel predicate of placing samples by their time: it was cancelled, or it takes long and the
 * user asked to finish. */
struct placing_limit {
	const struct model *m;
	const atomic_bool *cancel;
	uint64_t began_ns;
};

static bool is_placing_over(const void *ctx)
{
	const struct placing_limit *l = ctx;

	if (l->cancel && atomic_load_explicit(l->cancel, memory_order_relaxed))
		return true;
	return naming_deadline_ends_placing(&l->m->world->naming_deadline, l->began_ns);
}

static int name_locked(struct model *m, const atomic_bool *cancel)
{
	struct placing_limit limit = { m, cancel, clock_mono_ns() };
	struct model_stats before = m->stats;
	int r;

	model_place_waits(m);
	model_place_moments(m, &(struct cancel){ is_placing_over, &limit });
	world_fill_job(m->world, &m->naming);
	m->naming.profile = m->profile;
	m->naming.jit_samples = &m->jit;
	m->naming.is_last = uncount(m);
	m->naming.cancel = cancel;
	r = naming_run(&m->naming);
	model_trim_waits(m);
	world_lock(m->world);
	world_log_unanswered(m->world);
	if (m->account)
		account_for_names(m, &before);
	let_go(m);
	world_unlock(m->world);
	return r;
}

int model_name(struct model *m, const atomic_bool *cancel)
{
	int r;

	pthread_mutex_lock(&m->world->naming_lock);
	r = name_locked(m, cancel);
	pthread_mutex_unlock(&m->world->naming_lock);
	return r;
}
