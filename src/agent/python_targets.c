/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/python_targets.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include "agent/python_list.h"
#include "base/array.h"
#include "base/clock.h"
#include "base/error.h"
#include "collect/programs.h"
#include "proc/cgroup_dir.h"

#define MAX_EVENTS (1u << 16)
#define FIRST_WAIT_NS NS_PER_MS
/* between two attempts, at most: each one stops threads for a moment */
#define STRICT_WAIT_NS (20 * NS_PER_MS)
/* A program that computes in C is at a safe point now and then: looked for more often at first. */
#define LENIENT_FIRST_NS (10 * NS_PER_S)
#define LENIENT_FIRST_WAIT_NS (30 * NS_PER_MS)
#define LENIENT_WAIT_NS (500 * NS_PER_MS)
#define QUEUED_WAIT_NS (50 * NS_PER_MS) /* between two looks at the result */
#define EVENTS_NS (5 * NS_PER_MS)
#define LOOK_AGAIN_NS (300 * NS_PER_MS) /* a program that was just executed is mapped by then */
#define PATIENCE_NS (5 * NS_PER_S)      /* with a strict target */
#define BARRED_NS NS_PER_S              /* with one that a debugger or a signal has stopped */
/* At the end, for a safe point: usually, if the user waits, and on an abort. */
#define OFF_NS (5 * NS_PER_S)
#define OFF_INTERRUPTED_NS (2 * NS_PER_S)
#define OFF_CANCELLED_NS (2 * NS_PER_S)
/* For a call that is queued: it is made in any case, when the program next runs Python. */
#define OFF_QUEUED_NS NS_PER_S
#define CLEAN_NS (100 * NS_PER_MS)

struct python_event {
	enum process_event_type type;
	pid_t pid, ppid;
	uint64_t time_ns, file_key;
};

/* How switching off ended. */
struct off_counts {
	uint64_t nr_off, nr_queued, nr_left;
};

struct python_targets {
	struct python_targets_config cfg;
	pthread_t thread;
	bool has_thread;

	/* of the thread */
	struct python_list list;
	struct interpreter_cache cache;
	struct python_event *batch; /* owned */
	uint32_t cap_batch;

	pthread_mutex_t lock; /* protects what follows */
	pthread_cond_t changed;
	struct python_event *events; /* owned */
	uint32_t nr_events, cap_events;
	bool needs_scan; /* of all processes */
	bool is_ending;
	uint32_t nr_strict_left;
	pid_t failed_pid; /* a strict target that cannot be switched on; 0: none */
	enum python_outcome failed_outcome;
	uint64_t counts[PYTHON_NR_OUTCOMES], nr_no_room;
	struct off_counts off;
};

_Static_assert(PYTHON_NR_OUTCOMES + 4 <= PYTHON_TARGETS_NR_COUNTS, "room for all counts");

/* ---- one target ---- */

/* What is found by looking, before anything is tried. */
static bool is_verdict(enum python_outcome o)
{
	return o == PYTHON_NOT_PYTHON || o == PYTHON_TOO_OLD || o == PYTHON_NO_TRAMPOLINE ||
	       o == PYTHON_NO_SYMBOLS || o == PYTHON_NO_CODE || o == PYTHON_IS_32_BIT;
}

static uint64_t patience_ns(const struct python_target *t)
{
	enum python_outcome o = t->sw.outcome;
	bool is_barred = t->sw.stage == PYTHON_WAITS &&
			 (o == PYTHON_TRACED || o == PYTHON_STOPPED || o == PYTHON_NO_PERMISSION);

	return is_barred ? BARRED_NS : PATIENCE_NS;
}

static void begin_switch(struct python_target *t, enum inject_op op, uint64_t at_ns)
{
	python_switch_begin(&t->sw, op);
	t->began_ns = at_ns;
	t->due_ns = at_ns;
	t->wait_ns = 0;
}

static void wait_longer(struct python_target *t, uint64_t now_ns)
{
	uint64_t most_ns = t->sw.stage == PYTHON_IS_QUEUED           ? QUEUED_WAIT_NS
			   : t->is_strict                            ? STRICT_WAIT_NS
			   : now_ns - t->began_ns < LENIENT_FIRST_NS ? LENIENT_FIRST_WAIT_NS
								     : LENIENT_WAIT_NS;

	t->wait_ns = t->wait_ns ? t->wait_ns * 2 : FIRST_WAIT_NS;
	if (t->wait_ns > most_ns)
		t->wait_ns = most_ns;
	t->due_ns = now_ns + t->wait_ns;
}

static bool is_success(const struct python_target *t)
{
	return t->outcome == PYTHON_SWITCHED || t->outcome == PYTHON_ALREADY ||
	       (t->outcome == PYTHON_GONE && t->may_be_gone);
}

static void settle_strict(struct python_targets *p, const struct python_target *t)
{
	pthread_mutex_lock(&p->lock);
	p->nr_strict_left--;
	if (!is_success(t) && !p->failed_pid) {
		p->failed_pid = t->sw.pid;
		p->failed_outcome = t->outcome;
	}
	pthread_mutex_unlock(&p->lock);
}

/* The attempt to switch it on is over. */
static void note_outcome(struct python_targets *p, struct python_target *t, enum python_outcome o)
{
	t->due_ns = PYTHON_NEVER;
	t->on_ns = clock_mono_ns();
	t->outcome = o;
	/* one that has ended before it was known to be Python is none of the skipped */
	t->has_outcome = t->outcome != PYTHON_GONE || t->sw.has_interpreter;
	if (t->outcome != PYTHON_NOT_PYTHON && t->has_outcome)
		log_info(p->cfg.log, "python: PID %d: %s", (int)t->sw.pid,
			 python_outcome_text(t->outcome));
	if (t->is_strict)
		settle_strict(p, t);
	t->is_strict = false;
}

static void step(struct python_targets *p, struct python_target *t)
{
	uint64_t now_ns;

	python_switch_step(&t->sw, p->cfg.procfs, &p->cache);
	now_ns = clock_mono_ns();
	if (t->sw.stage != PYTHON_SETTLED && t->is_strict && now_ns - t->began_ns > patience_ns(t))
		python_switch_give_up(&t->sw, p->cfg.procfs);
	if (t->sw.stage != PYTHON_SETTLED) {
		wait_longer(t, now_ns);
	} else if (t->is_new && is_verdict(t->sw.outcome)) {
		t->is_new = false;
		begin_switch(t, INJECT_ACTIVATE, now_ns + LOOK_AGAIN_NS);
	} else {
		note_outcome(p, t, t->sw.outcome);
	}
}

/* ---- which processes ---- */

struct membership {
	pid_t pid;
	bool is_found;
};

static int compare_pid(void *ctx, pid_t pid)
{
	struct membership *m = ctx;

	m->is_found = pid == m->pid;
	return m->is_found;
}

static bool is_in_cgroup(const struct python_targets *p, pid_t pid)
{
	struct membership m = { .pid = pid };

	(void)cgroup_dir_each_pid(p->cfg.cgroup_fd, compare_pid, &m);
	return m.is_found;
}

static bool is_selected(const struct python_targets *p, pid_t pid)
{
	struct proc_status status;

	if (pid == getpid())
		return false;
	switch (p->cfg.settings->select) {
	case PA_SELECT_ALL:
		return true;
	case PA_SELECT_PIDS:
		return programs_has_target(p->cfg.programs, pid);
	case PA_SELECT_USER:
		return procfs_status(p->cfg.procfs, pid, &status) == 0 &&
		       status.euid == p->cfg.settings->o.user;
	case PA_SELECT_CGROUP:
		return is_in_cgroup(p, pid);
	case PA_SELECT_TIDS:
		break;
	}
	return false;
}

static struct python_target *add(struct python_targets *p, pid_t pid)
{
	struct python_target *t = python_list_add(&p->list, p->cfg.procfs, pid);

	if (t)
		begin_switch(t, INJECT_ACTIVATE, clock_mono_ns());
	return t;
}

static bool is_ending(struct python_targets *p)
{
	bool yes;

	pthread_mutex_lock(&p->lock);
	yes = p->is_ending;
	pthread_mutex_unlock(&p->lock);
	return yes;
}

/* A process that exists already. Kernel threads have no program. */
static int add_existing(void *ctx, pid_t pid)
{
	struct python_targets *p = ctx;
	char program[4096];

	if (is_ending(p))
		return -ECANCELED;
	if (!python_list_find(&p->list, pid) &&
	    procfs_program(p->cfg.procfs, pid, program, sizeof(program)) != -ENOENT &&
	    is_selected(p, pid))
		(void)add(p, pid);
	return 0;
}

static void scan(struct python_targets *p)
{
	/* processes that cannot be listed are not sampled by name either */
	if (p->cfg.settings->select == PA_SELECT_CGROUP)
		(void)cgroup_dir_each_pid(p->cfg.cgroup_fd, add_existing, p);
	else
		(void)procfs_each_pid(p->cfg.procfs, add_existing, p);
}

/* ---- events ---- */

/* A child runs the same interpreter. A trampoline that it has inherited is on, unless the fork came
 * before we saw the parent's go on. */
static void note_fork(struct python_targets *p, const struct python_event *e)
{
	const struct python_target *parent;
	struct python_target *t;

	python_list_remove(&p->list, e->pid); /* a former process of this PID */
	parent = python_list_find(&p->list, e->ppid);
	if (!parent || (parent->has_outcome && parent->outcome == PYTHON_NOT_PYTHON) ||
	    !(parent->has_outcome || parent->sw.has_interpreter) || !is_selected(p, e->pid))
		return;
	t = python_list_add(&p->list, p->cfg.procfs, e->pid);
	if (!t)
		return;
	t->is_forked = true;
	if (parent->sw.has_interpreter)
		python_switch_fork(&t->sw, p->cfg.procfs, &parent->sw);
	if (parent->has_outcome && parent->outcome != PYTHON_SWITCHED)
		note_outcome(p, t, parent->outcome);
	else if (parent->sw.is_on && t->sw.is_on && e->time_ns > parent->on_ns)
		note_outcome(p, t, PYTHON_SWITCHED);
	else
		begin_switch(t, INJECT_ACTIVATE, clock_mono_ns());
}

/* It runs another program from now on. */
static void note_exec(struct python_targets *p, const struct python_event *e)
{
	struct python_target *t = python_list_find(&p->list, e->pid);

	if (!t)
		return;
	if (t->is_strict) {
		t->sw.has_interpreter = false;
		begin_switch(t, INJECT_ACTIVATE, clock_mono_ns() + FIRST_WAIT_NS);
		return;
	}
	if (t->is_forked)
		t->has_outcome = false;
	python_list_remove(&p->list, e->pid);
}

/* A file that is not known to be no Python was mapped. */
static void note_mmap(struct python_targets *p, const struct python_event *e)
{
	struct python_target *t;

	if (interpreter_cache_has(&p->cache, e->file_key))
		return;
	t = python_list_find(&p->list, e->pid);
	if (t && t->sw.stage == PYTHON_SETTLED && t->outcome == PYTHON_NOT_PYTHON)
		begin_switch(t, INJECT_ACTIVATE, clock_mono_ns());
	if (t || !is_selected(p, e->pid))
		return;
	t = add(p, e->pid);
	if (t)
		t->is_new = true;
}

/* One that may be on, or become so, stays: the first thread of a process may end before the others. */
static void note_exit(struct python_targets *p, const struct python_event *e)
{
	const struct python_target *t = python_list_find(&p->list, e->pid);

	if (t && !t->is_strict && !t->sw.is_on && t->sw.stage != PYTHON_IS_QUEUED)
		python_list_remove(&p->list, e->pid);
}

static void apply(struct python_targets *p, const struct python_event *e)
{
	switch (e->type) {
	case EVENT_FORK:
		note_fork(p, e);
		break;
	case EVENT_EXEC:
		note_exec(p, e);
		break;
	case EVENT_EXIT:
		note_exit(p, e);
		break;
	case EVENT_MMAP:
		note_mmap(p, e);
		break;
	case EVENT_BUILD_ID:
	case EVENT_KSYMBOL:
	case EVENT_LOST:
		break;
	}
}

static void take_events(struct python_targets *p)
{
	struct python_event *taken;
	uint32_t nr, cap;
	bool needs_scan;

	pthread_mutex_lock(&p->lock);
	taken = p->events;
	nr = p->nr_events;
	cap = p->cap_events;
	p->events = p->batch;
	p->cap_events = p->cap_batch;
	p->nr_events = 0;
	needs_scan = p->needs_scan;
	p->needs_scan = false;
	pthread_mutex_unlock(&p->lock);
	p->batch = taken;
	p->cap_batch = cap;
	for (uint32_t i = 0; i < nr; i++)
		apply(p, &taken[i]);
	if (needs_scan)
		scan(p);
}

void python_targets_event(struct python_targets *p, const struct process_event *e)
{
	struct python_event to = {
		.type = e->type, .pid = e->pid, .ppid = e->ppid, .time_ns = e->time_ns
	};

	if (!p || e->type == EVENT_BUILD_ID || e->type == EVENT_KSYMBOL ||
	    (e->type == EVENT_MMAP && !e->inode))
		return;
	to.file_key = interpreter_file_key(e->major, e->minor, e->inode);
	pthread_mutex_lock(&p->lock);
	if (e->type == EVENT_LOST ||
	    ARRAY_RESERVE(p->events, p->cap_events, p->nr_events + 1, MAX_EVENTS) < 0)
		p->needs_scan = true;
	else
		p->events[p->nr_events++] = to;
	if (p->nr_events <= 1)
		pthread_cond_signal(&p->changed);
	pthread_mutex_unlock(&p->lock);
}

/* ---- the end ---- */

static uint64_t off_deadline_ns(const struct python_targets *p, uint64_t began_ns)
{
	if (atomic_load(p->cfg.is_cancelled))
		return began_ns + OFF_CANCELLED_NS;
	return began_ns + (atomic_load(p->cfg.is_interrupted) ? OFF_INTERRUPTED_NS : OFF_NS);
}

/* What was not switched on until now is not switched on any more. */
static void begin_off(struct python_targets *p)
{
	for (uint32_t i = 0; i < p->list.nr; i++) {
		struct python_target *t = p->list.items[i];

		if (t->sw.stage != PYTHON_SETTLED) {
			python_switch_give_up(&t->sw, p->cfg.procfs);
			note_outcome(p, t, t->sw.outcome);
			t->has_outcome = t->sw.has_interpreter;
		}
		if (t->sw.is_on)
			begin_switch(t, INJECT_DEACTIVATE, clock_mono_ns());
	}
}

static bool is_off_awaited(const struct python_target *t, uint64_t now_ns, uint64_t end_ns)
{
	if (t->sw.stage == PYTHON_IS_QUEUED && now_ns > t->began_ns + OFF_QUEUED_NS)
		return false;
	return t->sw.stage != PYTHON_SETTLED && now_ns < end_ns;
}

static bool step_off(struct python_targets *p, uint64_t end_ns)
{
	bool is_awaited = false;

	for (uint32_t i = 0; i < p->list.nr; i++) {
		struct python_target *t = p->list.items[i];
		uint64_t now_ns = clock_mono_ns();

		if (!is_off_awaited(t, now_ns, end_ns))
			continue;
		if (t->due_ns <= now_ns) {
			python_switch_step(&t->sw, p->cfg.procfs, &p->cache);
			wait_longer(t, now_ns);
			if (t->wait_ns > STRICT_WAIT_NS)
				t->due_ns = now_ns + STRICT_WAIT_NS;
		}
		is_awaited = true;
	}
	return is_awaited;
}

static void await_off(struct python_targets *p, uint64_t began_ns)
{
	while (step_off(p, off_deadline_ns(p, began_ns)))
		usleep(FIRST_WAIT_NS / 1000);
}

/* Children of which no event has told: forked while events were lost, or after the last one. */
static int add_missed_child(void *ctx, pid_t pid)
{
	struct python_targets *p = ctx;
	const struct python_target *parent;
	struct python_target *t;
	pid_t ppid;

	if (python_list_find(&p->list, pid) || procfs_parent(p->cfg.procfs, pid, &ppid) < 0)
		return 0;
	parent = python_list_find(&p->list, ppid);
	if (!parent || !parent->sw.page)
		return 0;
	t = python_list_add(&p->list, p->cfg.procfs, pid);
	if (!t)
		return -E2BIG;
	python_switch_fork(&t->sw, p->cfg.procfs, &parent->sw);
	if (t->sw.is_on)
		begin_switch(t, INJECT_DEACTIVATE, clock_mono_ns());
	return 0;
}

static void clean_all(struct python_targets *p)
{
	uint64_t end_ns = clock_mono_ns() + CLEAN_NS;
	bool is_left = true;

	while (is_left && clock_mono_ns() < end_ns && !atomic_load(p->cfg.is_cancelled)) {
		is_left = false;
		for (uint32_t i = 0; i < p->list.nr && clock_mono_ns() < end_ns; i++) {
			struct python_target *t = p->list.items[i];

			if (t->sw.page && !python_switch_clean(&t->sw, p->cfg.procfs))
				is_left = true;
		}
		usleep(FIRST_WAIT_NS / 1000);
	}
}

static void count_off(struct python_targets *p)
{
	struct off_counts off = { 0 };

	for (uint32_t i = 0; i < p->list.nr; i++) {
		struct python_target *t = p->list.items[i];

		if (t->sw.op != INJECT_DEACTIVATE)
			continue;
		if (t->sw.stage == PYTHON_IS_QUEUED)
			off.nr_queued++;
		else if (t->sw.is_on && t->sw.outcome != PYTHON_GONE)
			off.nr_left++;
		else if (t->sw.outcome != PYTHON_GONE)
			off.nr_off++;
		if (t->sw.stage != PYTHON_SETTLED)
			log_info(p->cfg.log, "python: PID %d is not off yet", (int)t->sw.pid);
	}
	pthread_mutex_lock(&p->lock);
	p->off = off;
	pthread_mutex_unlock(&p->lock);
}

static void switch_off(struct python_targets *p)
{
	uint64_t began_ns = clock_mono_ns();

	begin_off(p);
	await_off(p, began_ns);
	if (p->list.nr && !atomic_load(p->cfg.is_cancelled)) {
		(void)procfs_each_pid(p->cfg.procfs, add_missed_child, p);
		await_off(p, began_ns);
	}
	count_off(p);
	clean_all(p);
}

/* ---- the thread ---- */

static void publish(struct python_targets *p)
{
	uint64_t counts[PYTHON_NR_OUTCOMES];

	python_list_count(&p->list, counts);
	pthread_mutex_lock(&p->lock);
	memcpy(p->counts, counts, sizeof(counts));
	p->nr_no_room = p->list.nr_no_room;
	pthread_mutex_unlock(&p->lock);
}

/* Returns when the next step is due. */
static uint64_t step_all(struct python_targets *p)
{
	uint64_t next_ns = PYTHON_NEVER;

	for (uint32_t i = 0; i < p->list.nr && !is_ending(p); i++) {
		struct python_target *t = p->list.items[i];

		if (t->due_ns <= clock_mono_ns())
			step(p, t);
		if (t->due_ns < next_ns)
			next_ns = t->due_ns;
	}
	return next_ns;
}

/* Events come in crowds. False: the end was asked for. */
static bool sleep_until(struct python_targets *p, uint64_t next_ns)
{
	struct timespec at = { (time_t)(next_ns / NS_PER_S), (long)(next_ns % NS_PER_S) };
	bool goes_on, has_events;

	pthread_mutex_lock(&p->lock);
	while (!p->nr_events && !p->needs_scan && !p->is_ending)
		if (next_ns == PYTHON_NEVER)
			pthread_cond_wait(&p->changed, &p->lock);
		else if (pthread_cond_timedwait(&p->changed, &p->lock, &at) != 0)
			break;
	goes_on = !p->is_ending;
	has_events = p->nr_events;
	pthread_mutex_unlock(&p->lock);
	if (goes_on && has_events)
		usleep(EVENTS_NS / 1000);
	return goes_on;
}

static void *python_thread(void *targets)
{
	struct python_targets *p = targets;
	uint64_t next_ns;

	do {
		take_events(p);
		next_ns = step_all(p);
		publish(p);
	} while (sleep_until(p, next_ns));
	take_events(p);
	switch_off(p);
	publish(p);
	return NULL;
}

/* ---- the session's side ---- */

static int add_strict(struct python_targets *p, pid_t pid, bool may_be_gone)
{
	struct python_target *t;

	if (python_list_find(&p->list, pid))
		return 0;
	t = add(p, pid);
	if (!t)
		return -ENOMEM;
	t->is_strict = t->is_new = true;
	t->may_be_gone = may_be_gone;
	p->nr_strict_left++;
	return 0;
}

/* A command is none yet: it will be when it is executed. */
static int add_named(struct python_targets *p)
{
	const struct pa_options *o = &p->cfg.settings->o;
	struct proc_status status;
	int r = 0;

	for (size_t i = 0; i < o->nr_pids && r == 0 && !o->start_on_exec; i++)
		r = add_strict(p, o->pids[i], i >= p->cfg.settings->nr_given_pids);
	for (size_t i = 0; i < o->nr_tids && r == 0; i++)
		if (procfs_status(p->cfg.procfs, o->tids[i], &status) == 0)
			r = add_strict(p, status.tgid, false);
	return r;
}

static int start(struct python_targets *p)
{
	sigset_t all, before;
	int r;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	r = pthread_create(&p->thread, NULL, python_thread, p);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	p->has_thread = r == 0;
	return -r;
}

int python_targets_new(const struct python_targets_config *cfg, struct python_targets **ret_targets)
{
	struct python_targets *p = calloc(1, sizeof(*p));
	pthread_condattr_t monotonic;
	int r;

	if (!p)
		return -ENOMEM;
	p->cfg = *cfg;
	p->needs_scan = !cfg->settings->o.start_on_exec;
	pthread_mutex_init(&p->lock, NULL);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&p->changed, &monotonic);
	pthread_condattr_destroy(&monotonic);
	r = add_named(p);
	if (r == 0)
		r = start(p);
	if (r < 0)
		python_targets_free(p);
	else
		*ret_targets = p;
	return r;
}

int python_targets_ready(struct python_targets *p, struct pa_error *err)
{
	enum python_outcome outcome;
	uint32_t nr_left;
	pid_t failed;

	pthread_mutex_lock(&p->lock);
	failed = p->failed_pid;
	outcome = p->failed_outcome;
	nr_left = p->nr_strict_left;
	pthread_mutex_unlock(&p->lock);
	if (failed)
		return error_set(err, outcome == PYTHON_NO_PERMISSION ? EPERM : EOPNOTSUPP,
				 "pa_options.inject_python: PID %d: %s; %s", (int)failed,
				 python_outcome_text(outcome), python_outcome_fix(outcome));
	return nr_left ? -EAGAIN : 0;
}

void python_targets_end(struct python_targets *p)
{
	if (!p)
		return;
	pthread_mutex_lock(&p->lock);
	p->is_ending = true;
	pthread_cond_signal(&p->changed);
	pthread_mutex_unlock(&p->lock);
}

void python_targets_join(struct python_targets *p)
{
	if (!p || !p->has_thread)
		return;
	python_targets_end(p);
	pthread_join(p->thread, NULL);
	p->has_thread = false;
}

struct python_targets *python_targets_free(struct python_targets *p)
{
	if (!p)
		return NULL;
	python_targets_join(p);
	python_list_done(&p->list);
	interpreter_cache_done(&p->cache);
	pthread_cond_destroy(&p->changed);
	pthread_mutex_destroy(&p->lock);
	free(p->events);
	free(p->batch);
	free(p);
	return NULL;
}

size_t python_targets_counts(struct python_targets *p, struct pa_count *to)
{
	size_t nr = 0;

	if (!p)
		return 0;
	pthread_mutex_lock(&p->lock);
	for (; nr < PYTHON_NR_OUTCOMES; nr++)
		to[nr] = (struct pa_count){ python_outcome_key((enum python_outcome)nr),
					    python_outcome_text((enum python_outcome)nr),
					    p->counts[nr] };
	to[nr++] = (struct pa_count){ "no_room", "more processes than are kept in mind",
				      p->nr_no_room };
	to[nr++] = (struct pa_count){ "switched_off", "switched off again", p->off.nr_off };
	to[nr++] = (struct pa_count){ "off_queued", "off when they next run Python code",
				      p->off.nr_queued };
	to[nr++] = (struct pa_count){ "left_on", "could not be switched off, and stay on",
				      p->off.nr_left };
	pthread_mutex_unlock(&p->lock);
	return nr;
}
