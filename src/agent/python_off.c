/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The end: activations that were not made are called off, and what was switched on is switched off. All
 * targets take part from the first moment on; no one waits until another has answered.
 */
#include <unistd.h>

#include "agent/python_work.h"
#include "base/clock.h"

/* For a safe point: usually, and if the user waits or has aborted the capture. */
#define OFF_NS (5 * NS_PER_S)
#define OFF_INTERRUPTED_NS (2 * NS_PER_S)
/* For a call that is queued: it is made in any case, when the program next runs Python. */
#define OFF_QUEUED_NS NS_PER_S
#define CLEAN_NS (100 * NS_PER_MS)
#define ROUND_NS NS_PER_MS /* between two rounds */

uint64_t python_off_deadline_ns(const struct python_work *w)
{
	bool is_short = atomic_load(w->cfg.is_cancelled) || atomic_load(w->cfg.is_interrupted);

	return w->off_began_ns + (is_short ? OFF_INTERRUPTED_NS : OFF_NS);
}

static bool is_awaited(const struct python_target *t, uint64_t now_ns)
{
	if (t->sw.outcome == PYTHON_UNANSWERED && t->sw.stage == PYTHON_SETTLED)
		return false;
	if (t->sw.op == INJECT_ACTIVATE)
		return t->sw.stage != PYTHON_SETTLED || t->sw.is_on;
	if (t->sw.stage == PYTHON_IS_QUEUED && now_ns > t->began_ns + OFF_QUEUED_NS)
		return false;
	return t->sw.stage != PYTHON_SETTLED;
}

static void step_off(struct python_work *w, struct python_target *t, uint64_t now_ns)
{
	if (t->sw.op == INJECT_ACTIVATE && t->sw.stage != PYTHON_SETTLED)
		python_work_give_up(w, t);
	if (t->sw.stage == PYTHON_SETTLED && t->sw.op == INJECT_ACTIVATE && t->sw.is_on)
		python_work_begin(t, INJECT_DEACTIVATE, now_ns);
	if (t->sw.stage != PYTHON_SETTLED && t->sw.op == INJECT_DEACTIVATE) {
		(void)python_work_do(w, t, PYTHON_STEP, NULL);
		python_work_delay(t, now_ns);
	}
}

/* A target that was settled long ago, or that waited for its next attempt, has its turn at once. */
static void make_due(struct python_work *w)
{
	for (uint32_t i = 0; i < w->list.nr; i++)
		w->list.items[i]->due_ns = 0;
}

/* False: nobody is left. */
static bool make_round(struct python_work *w)
{
	bool is_left = false;

	python_shares_new_round(&w->shares);
	for (uint32_t i = 0; i < w->list.nr; i++) {
		struct python_target *t = w->list.items[i];
		uint64_t now_ns = clock_mono_ns();

		if (now_ns > python_off_deadline_ns(w))
			return false;
		if (!is_awaited(t, now_ns))
			continue;
		is_left = true;
		if (t->due_ns <= now_ns && python_shares_has_time(&w->shares, t->user))
			step_off(w, t, now_ns);
	}
	return is_left;
}

static void make_rounds(struct python_work *w)
{
	make_due(w);
	while (make_round(w))
		usleep(ROUND_NS / 1000);
}

/* Those whose call had begun, and has not ended until the deadline. */
static void settle_rest(struct python_work *w)
{
	for (uint32_t i = 0; i < w->list.nr; i++) {
		struct python_target *t = w->list.items[i];

		if (t->sw.op != INJECT_ACTIVATE || t->sw.stage == PYTHON_SETTLED)
			continue;
		t->sw.stage = PYTHON_SETTLED;
		t->sw.outcome = PYTHON_BLOCKED;
		python_work_note(w, t, PYTHON_BLOCKED);
	}
}

static void clean_all(struct python_work *w)
{
	uint64_t end_ns = clock_mono_ns() + CLEAN_NS;
	bool is_left = true;

	while (is_left && clock_mono_ns() < end_ns && !atomic_load(w->cfg.is_cancelled)) {
		is_left = false;
		for (uint32_t i = 0; i < w->list.nr && clock_mono_ns() < end_ns; i++) {
			struct python_target *t = w->list.items[i];

			if (t->sw.page && !python_work_do(w, t, PYTHON_CLEAN, NULL))
				is_left = true;
		}
		usleep(ROUND_NS / 1000);
	}
}

static void count_one(const struct python_work *w, const struct python_target *t,
		      struct python_off_counts *to)
{
	if (!t->sw.is_on)
		to->nr_off++;
	else if (t->sw.outcome == PYTHON_GONE || python_follow_is_gone(w, t))
		to->nr_ended++;
	else if (t->sw.op == INJECT_DEACTIVATE && t->sw.stage == PYTHON_IS_QUEUED)
		to->nr_queued++;
	else
		to->nr_left++;
	if (t->sw.stage != PYTHON_SETTLED)
		log_info(w->cfg.log, "python: PID %d is not off yet", (int)t->sw.pid);
}

static void count_off(struct python_work *w)
{
	w->off = (struct python_off_counts){ .nr_ended = w->list.nr_ended };
	for (uint32_t i = 0; i < w->list.nr; i++) {
		const struct python_target *t = w->list.items[i];

		if (t->has_outcome && t->outcome == PYTHON_SWITCHED)
			count_one(w, t, &w->off);
	}
}

void python_off(struct python_work *w)
{
	w->off_began_ns = clock_mono_ns();
	make_rounds(w);
	python_follow_missed(w);
	make_rounds(w);
	settle_rest(w);
	count_off(w);
	clean_all(w);
}
