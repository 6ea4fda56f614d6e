/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/record_queue.h"

#include <string.h>

#define QUEUE_MAX_BYTES (1u << 30)

void record_queue_init(struct record_queue *q)
{
	q->bytes = BUF_INIT(QUEUE_MAX_BYTES);
}

void record_queue_done(struct record_queue *q)
{
	buf_done(&q->bytes);
}

int record_queue_add(struct record_queue *q, const void *bytes, size_t size)
{
	uint64_t size64 = size;
	int r = buf_reserve(&q->bytes, sizeof(size64) + size);

	if (r < 0)
		return r;
	(void)buf_append(&q->bytes, &size64, sizeof(size64)); /* room was reserved above */
	(void)buf_append(&q->bytes, bytes, size);
	return 0;
}

bool record_queue_at(const struct record_queue *q, size_t at, struct queued *ret)
{
	uint64_t size;

	if (at >= q->bytes.len)
		return false;
	memcpy(&size, q->bytes.data + at, sizeof(size));
	ret->head = (const void *)(q->bytes.data + at + sizeof(size));
	ret->size = size;
	ret->next = at + sizeof(size) + size;
	return true;
}

void record_queue_drop(struct record_queue *q, size_t before)
{
	if (!before)
		return; /* memmove() needs valid pointers even for no bytes */
	q->bytes.len -= before;
	memmove(q->bytes.data, q->bytes.data + before, q->bytes.len);
}

bool queued_sample_is_whole(const struct queued *q)
{
	const struct pa_sample *s = (const void *)q->head;

	return q->size >= sizeof(*s) && q->size == pa_sample_bytes(s);
}

static bool is_page_of(const struct queued *q, const struct pa_sample *s)
{
	const struct pa_stack_page *p = (const void *)q->head;

	return p->head.type == PA_RECORD_STACK && p->cpu == s->cpu && p->serial == s->serial &&
	       q->size == sizeof(*p) + p->size;
}

static bool is_end_of(const struct queued *q, const struct pa_sample *s)
{
	const struct pa_stack_end *e = (const void *)q->head;

	return e->head.type == PA_RECORD_STACK_END && q->size == sizeof(*e) && e->cpu == s->cpu &&
	       e->serial == s->serial && e->stop < PA_NR_STOPS;
}

/* True if it is the next sample of the same CPU and nesting level: samples of one level do not
 * overlap. */
static bool is_next_of_level(const struct queued *q, const struct pa_sample *s)
{
	const struct pa_sample *next = (const void *)q->head;

	return next->head.type == PA_RECORD_SAMPLE && q->size >= sizeof(*next) &&
	       next->cpu == s->cpu &&
	       (next->serial & PA_SERIAL_LEVEL_MASK) == (s->serial & PA_SERIAL_LEVEL_MASK);
}

bool record_queue_has_stack(const struct record_queue *q, const struct queued *sample)
{
	const struct pa_sample *s = (const void *)sample->head;
	size_t at = sample->next;

	for (struct queued n; record_queue_at(q, at, &n); at = n.next)
		if (is_end_of(&n, s) || is_next_of_level(&n, s))
			return true;
	return false;
}

void record_queue_gather_stack(const struct record_queue *q, const struct queued *sample,
			       struct stack_copy *ret)
{
	const struct pa_sample *s = (const void *)sample->head;
	size_t at = sample->next;

	*ret = (struct stack_copy){ .is_in_syscall = s->flags & PA_SAMPLE_IN_SYSCALL,
				    .stop = PA_STOP_COPY_LOST };
	memcpy(&ret->regs, pa_sample_regs(s), sizeof(ret->regs));
	for (struct queued n; record_queue_at(q, at, &n) && !is_next_of_level(&n, s); at = n.next)
		if (is_page_of(&n, s) && ret->nr_pages < PA_STACK_MAX_PAGES) {
			ret->pages[ret->nr_pages++] = (const void *)n.head;
		} else if (is_end_of(&n, s)) {
			ret->stop = (uint8_t)((const struct pa_stack_end *)n.head)->stop;
			break;
		}
}
