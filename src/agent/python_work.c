/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/python_work.h"

#include <string.h>

#include "base/clock.h"
#include "proc/procfs.h"

#define FIRST_WAIT_NS NS_PER_MS
/* between two attempts, at most: each one stops threads for a moment */
#define STRICT_WAIT_NS (20 * NS_PER_MS)
/* A program that computes in C is at a safe point now and then: looked for more often at first. */
#define LENIENT_FIRST_NS (10 * NS_PER_S)
#define LENIENT_FIRST_WAIT_NS (30 * NS_PER_MS)
#define LENIENT_WAIT_NS (500 * NS_PER_MS)
/* One that has just started may not run for long. */
#define START_NS NS_PER_S
#define START_WAIT_NS (10 * NS_PER_MS)
#define QUEUED_WAIT_NS (50 * NS_PER_MS) /* between two looks at the result */
#define PATIENCE_NS (5 * NS_PER_S)      /* with a strict target */
#define BARRED_NS NS_PER_S              /* with one that a debugger or a signal has stopped */
#define BEGUN_NS (500 * NS_PER_MS) /* for a call to end that had begun when it was called off */
#define LEAVING_NS NS_PER_S        /* between two looks whether a process has ended */
/* A job has deadlines of its own, of which each may be used up, on a busy machine; one that takes longer
 * than these never ends. */
#define HUNG_NS (4 * NS_PER_S)
#define HUNG_AT_END_NS (1500 * NS_PER_MS)
#define GRACE_NS (100 * NS_PER_MS)
#define MAX_ABANDONED 16

/* ---- jobs ---- */

static uint64_t job_deadline_ns(const struct python_work *w)
{
	uint64_t began_ns = w->job_began_ns, end_ns, latest_ns;

	if (!atomic_load(&w->is_ending))
		return began_ns + HUNG_NS;
	end_ns = began_ns + HUNG_AT_END_NS;
	if (!w->off_began_ns)
		return end_ns;
	latest_ns = python_off_deadline_ns(w) + GRACE_NS;
	if (latest_ns < began_ns + GRACE_NS)
		latest_ns = began_ns + GRACE_NS;
	return end_ns < latest_ns ? end_ns : latest_ns;
}

static bool is_job_over(const void *work)
{
	return clock_mono_ns() > job_deadline_ns(work);
}

int python_work_init(struct python_work *w)
{
	int r = procfs_open("/proc", &w->procfs);

	if (r < 0)
		return r;
	w->has_procfs = true;
	w->job_over = (struct cancel){ is_job_over, w };
	return tracer_new(w->procfs.fd, &w->job_over, &w->tracer);
}

/* was_pending: it was to be switched on when the job began. */
static void settle_unanswered(struct python_work *w, struct python_target *t, bool was_pending)
{
	t->sw.stage = PYTHON_SETTLED;
	t->sw.outcome = PYTHON_UNANSWERED;
	t->sw.page = 0;
	t->due_ns = PYTHON_NEVER;
	if (was_pending)
		python_work_note(w, t, PYTHON_UNANSWERED);
}

static bool do_job(struct python_work *w, struct python_target *t, enum python_job job,
		   const struct python_target *parent)
{
	const struct python_tools tools = { &w->procfs, w->tracer, &w->cache, &w->job_over };

	switch (job) {
	case PYTHON_STEP:
		python_switch_step(&t->sw, &tools);
		break;
	case PYTHON_GIVE_UP:
		python_switch_give_up(&t->sw, &tools);
		break;
	case PYTHON_FORK:
		python_switch_fork(&t->sw, &w->procfs, &parent->sw);
		break;
	case PYTHON_CLEAN:
		return python_switch_clean(&t->sw, &tools);
	}
	return false;
}

/* True if the job has hung the tracer. The next one has a new process. */
static bool look_at_tracer(struct python_work *w, const struct tracer_stats *before)
{
	struct tracer_stats now = tracer_stats(w->tracer);

	if (now.nr_killed != before->nr_killed)
		log_warn(w->cfg.log,
			 "python: the process that traces was killed; another one takes over");
	if (now.nr_abandoned == before->nr_abandoned)
		return false;
	if (now.nr_abandoned >= MAX_ABANDONED) {
		w->tracer = tracer_free(w->tracer);
		log_warn(w->cfg.log, "python: no more processes are looked at, because too many do "
				     "not answer");
	}
	return true;
}

static bool is_unsettled(const struct python_target *t)
{
	return t->sw.stage != PYTHON_SETTLED || t->sw.outcome == PYTHON_UNANSWERED;
}

bool python_work_do(struct python_work *w, struct python_target *t, enum python_job job,
		    const struct python_target *parent)
{
	bool was_pending = t->sw.stage != PYTHON_SETTLED && t->sw.op == INJECT_ACTIVATE;
	struct tracer_stats before;
	bool answer, has_hung;

	if (!w->tracer || !python_shares_is_served(&w->shares, t->user)) {
		settle_unanswered(w, t, was_pending);
		return false;
	}
	before = tracer_stats(w->tracer);
	w->job_began_ns = clock_mono_ns();
	answer = do_job(w, t, job, parent);
	python_shares_charge(&w->shares, t->user, clock_mono_ns() - w->job_began_ns);
	has_hung = look_at_tracer(w, &before);
	if (!has_hung && !(is_job_over(w) && is_unsettled(t)))
		return answer;
	log_info(w->cfg.log, "python: PID %d does not answer", (int)t->sw.pid);
	python_shares_note_unanswered(&w->shares, t->user);
	settle_unanswered(w, t, was_pending);
	return false;
}

/* ---- one target ---- */

struct python_target *python_work_add(struct python_work *w, pid_t pid)
{
	struct python_target *t = python_list_add(&w->list, w->cfg.procfs, pid);
	uint64_t payer;

	if (t)
		t->user = procfs_payer(w->cfg.procfs, pid, &payer) < 0
				  ? PYTHON_NO_USER
				  : python_shares_of(&w->shares, payer);
	return t;
}

void python_work_begin(struct python_target *t, enum inject_op op, uint64_t at_ns)
{
	python_switch_begin(&t->sw, op);
	t->is_given_up = false;
	t->began_ns = at_ns;
	t->due_ns = at_ns;
	t->wait_ns = 0;
}

void python_work_delay(struct python_target *t, uint64_t now_ns)
{
	uint64_t age_ns = now_ns - t->began_ns;
	bool is_queued = t->sw.stage == PYTHON_IS_QUEUED;
	uint64_t most_ns = t->is_strict || t->sw.op == INJECT_DEACTIVATE ? STRICT_WAIT_NS
			   : is_queued                                   ? QUEUED_WAIT_NS
			   : age_ns < START_NS                           ? START_WAIT_NS
			   : age_ns < LENIENT_FIRST_NS                   ? LENIENT_FIRST_WAIT_NS
									 : LENIENT_WAIT_NS;

	t->wait_ns = t->wait_ns ? t->wait_ns * 2 : FIRST_WAIT_NS;
	if (t->wait_ns > most_ns)
		t->wait_ns = most_ns;
	t->due_ns = now_ns + t->wait_ns;
}

/* What is found by looking, before anything is tried. */
static bool is_verdict(enum python_outcome o)
{
	return o == PYTHON_NOT_PYTHON || o == PYTHON_TOO_OLD || o == PYTHON_NO_TRAMPOLINE ||
	       o == PYTHON_NO_SYMBOLS || o == PYTHON_NO_CODE || o == PYTHON_IS_32_BIT;
}

static bool is_called_python(const struct python_work *w, pid_t pid)
{
	char name[PROC_COMM_SIZE];

	return procfs_comm(w->cfg.procfs, pid, name) == 0 && !strncmp(name, "python", 6);
}

/* Of processes that could not be looked into those count that are Python by their name. */
static bool is_counted(const struct python_work *w, const struct python_target *t)
{
	return t->sw.has_interpreter || is_verdict(t->outcome) || t->outcome == PYTHON_UNANSWERED ||
	       (t->outcome != PYTHON_GONE && is_called_python(w, t->sw.pid));
}

static bool is_success(const struct python_target *t)
{
	return t->outcome == PYTHON_SWITCHED || t->outcome == PYTHON_ALREADY ||
	       (t->outcome == PYTHON_GONE && t->may_be_gone);
}

static void settle_strict(struct python_work *w, struct python_target *t)
{
	t->is_strict = false;
	w->nr_strict_left--;
	if (!is_success(t) && !w->failed_pid) {
		w->failed_pid = t->sw.pid;
		w->failed_outcome = t->outcome;
	}
}

void python_work_note(struct python_work *w, struct python_target *t, enum python_outcome o)
{
	t->on_ns = clock_mono_ns();
	t->due_ns = o == PYTHON_GONE ? t->on_ns : PYTHON_NEVER;
	t->outcome = o;
	t->has_outcome = is_counted(w, t);
	if (t->outcome != PYTHON_NOT_PYTHON && t->has_outcome)
		log_info(w->cfg.log, "python: PID %d: %s", (int)t->sw.pid,
			 python_outcome_text(t->outcome));
	if (t->is_strict)
		settle_strict(w, t);
}

void python_work_give_up(struct python_work *w, struct python_target *t)
{
	uint64_t now_ns = clock_mono_ns();

	if (!t->is_given_up) {
		t->is_given_up = true;
		t->given_up_ns = now_ns;
		(void)python_work_do(w, t, PYTHON_GIVE_UP, NULL);
	} else if (now_ns < t->given_up_ns + BEGUN_NS) {
		(void)python_work_do(w, t, PYTHON_STEP, NULL);
	} else {
		t->sw.stage = PYTHON_SETTLED;
		t->sw.outcome = PYTHON_BLOCKED;
	}
	if (t->sw.stage == PYTHON_SETTLED && t->sw.outcome != PYTHON_UNANSWERED)
		python_work_note(w, t, t->sw.outcome);
	else
		t->due_ns = now_ns + FIRST_WAIT_NS;
}

static uint64_t patience_ns(const struct python_target *t)
{
	enum python_outcome o = t->sw.outcome;
	bool is_barred = t->sw.stage == PYTHON_WAITS &&
			 (o == PYTHON_TRACED || o == PYTHON_STOPPED || o == PYTHON_NO_PERMISSION);

	return is_barred ? BARRED_NS : PATIENCE_NS;
}

static void step_on(struct python_work *w, struct python_target *t)
{
	uint64_t now_ns;

	if (t->is_given_up) {
		python_work_give_up(w, t);
		return;
	}
	(void)python_work_do(w, t, PYTHON_STEP, NULL);
	now_ns = clock_mono_ns();
	if (t->sw.stage != PYTHON_SETTLED && t->is_strict && now_ns > t->began_ns + patience_ns(t))
		python_work_give_up(w, t);
	else if (t->sw.stage != PYTHON_SETTLED)
		python_work_delay(t, now_ns);
	else if (is_verdict(t->sw.outcome) && now_ns < t->new_until_ns)
		python_work_begin(t, INJECT_ACTIVATE, t->new_until_ns);
	else if (t->sw.outcome != PYTHON_UNANSWERED)
		python_work_note(w, t, t->sw.outcome);
}

/* Processes that have ended do not fill the list. True: it is not in the list any more. */
static bool remove_gone(struct python_work *w, struct python_target *t)
{
	if (python_follow_is_gone(w, t)) {
		python_list_remove(&w->list, t->sw.pid);
		return true;
	}
	t->due_ns = clock_mono_ns() + LEAVING_NS;
	return false;
}

/* ---- all targets ---- */

uint64_t python_work_step_all(struct python_work *w)
{
	uint64_t next_ns = PYTHON_NEVER;
	uint32_t first = w->first < w->list.nr ? w->first : 0;

	python_shares_new_round(&w->shares);
	w->first = 0;
	for (uint32_t i = 0; i < w->list.nr && !atomic_load(&w->is_ending); i++) {
		uint32_t at = (first + i) % w->list.nr;
		struct python_target *t = w->list.items[at];
		bool is_due = t->due_ns <= clock_mono_ns();

		if (is_due && !python_shares_has_time(&w->shares, t->user)) {
			w->first = w->first ? w->first : at;
		} else if (is_due && t->sw.stage == PYTHON_SETTLED) {
			if (remove_gone(w, t))
				continue;
		} else if (is_due) {
			step_on(w, t);
		}
		if (t->due_ns < next_ns)
			next_ns = t->due_ns;
	}
	return next_ns;
}

void python_work_done(struct python_work *w)
{
	w->tracer = tracer_free(w->tracer);
	if (w->has_procfs)
		procfs_close(&w->procfs);
	w->has_procfs = false;
	interpreter_cache_done(&w->cache);
	python_list_done(&w->list);
	python_shares_done(&w->shares);
}
