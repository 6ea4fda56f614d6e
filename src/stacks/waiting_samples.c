/* SPDX-License-Identifier: Apache-2.0 */
#include "stacks/waiting_samples.h"

#include <errno.h>

void waiting_samples_init(struct waiting_samples *p)
{
	*p = (struct waiting_samples){ .end = &p->first };
}

void waiting_samples_done(struct waiting_samples *p)
{
	for (struct waiting_sample *one = p->first, *next; one; one = next) {
		next = one->next;
		free(one);
	}
	waiting_samples_init(p);
}

static size_t aligned_bytes(size_t size)
{
	return (size + 7) & ~(size_t)7;
}

static size_t page_bytes(const struct pa_stack_page *page)
{
	return aligned_bytes(sizeof(*page) + page->size);
}

static size_t records_bytes(size_t sample_size, const struct stack_copy *stack)
{
	size_t sum = aligned_bytes(sample_size);

	for (uint32_t i = 0; i < stack->nr_pages; i++)
		sum += page_bytes(stack->pages[i]);
	return sum;
}

static void copy_records(struct waiting_sample *one, const struct pa_sample *s, size_t size,
			 const struct stack_copy *stack)
{
	char *at = (char *)one->records;

	one->sample = memcpy(at, s, size);
	at += aligned_bytes(size);
	one->stack = *stack;
	for (uint32_t i = 0; i < stack->nr_pages; i++) {
		const struct pa_stack_page *page = stack->pages[i];

		one->stack.pages[i] = memcpy(at, page, sizeof(*page) + page->size);
		at += page_bytes(page);
	}
}

int waiting_samples_add(struct waiting_samples *p, const struct pa_sample *s, size_t size,
			const struct stack_copy *stack, uint32_t file)
{
	size_t bytes = sizeof(struct waiting_sample) + records_bytes(size, stack);
	struct waiting_sample *one;

	if (p->bytes + bytes > WAITING_MAX_BYTES)
		return -ENOSPC;
	one = malloc(bytes);
	if (!one)
		return -ENOMEM;
	*one = (struct waiting_sample){ .file = file, .bytes = bytes };
	copy_records(one, s, size, stack);
	waiting_samples_give_back(p, one);
	return 0;
}

void waiting_samples_give_back(struct waiting_samples *p, struct waiting_sample *one)
{
	one->next = NULL;
	*p->end = one;
	p->end = &one->next;
	p->bytes += one->bytes;
}

struct waiting_sample *waiting_samples_take(struct waiting_samples *p, waiting_due_fn is_due,
					    void *ctx)
{
	struct waiting_sample **link = &p->first, *one;

	while (*link && !is_due(ctx, *link))
		link = &(*link)->next;
	one = *link;
	if (!one)
		return NULL;
	*link = one->next;
	if (!one->next)
		p->end = link;
	p->bytes -= one->bytes;
	return one;
}

uint64_t waiting_samples_oldest_ns(const struct waiting_samples *p)
{
	uint64_t oldest = UINT64_MAX;

	for (const struct waiting_sample *one = p->first; one; one = one->next)
		if (one->sample->head.time_ns < oldest)
			oldest = one->sample->head.time_ns;
	return oldest;
}
