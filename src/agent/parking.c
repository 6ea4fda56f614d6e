/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/parking.h"

#include <errno.h>

void parking_init(struct parking *p)
{
	*p = (struct parking){ .end = &p->first };
}

void parking_done(struct parking *p)
{
	for (struct parked *one = p->first, *next; one; one = next) {
		next = one->next;
		free(one);
	}
	parking_init(p);
}

static size_t aligned(size_t size)
{
	return (size + 7) & ~(size_t)7;
}

static size_t page_bytes(const struct pa_stack_page *page)
{
	return aligned(sizeof(*page) + page->size);
}

static size_t records_bytes(size_t sample_size, const struct stack_copy *stack)
{
	size_t sum = aligned(sample_size);

	for (uint32_t i = 0; i < stack->nr_pages; i++)
		sum += page_bytes(stack->pages[i]);
	return sum;
}

static void copy_records(struct parked *one, const struct pa_sample *s, size_t size,
			 const struct stack_copy *stack)
{
	char *at = (char *)one->records;

	one->sample = memcpy(at, s, size);
	at += aligned(size);
	one->stack = *stack;
	for (uint32_t i = 0; i < stack->nr_pages; i++) {
		const struct pa_stack_page *page = stack->pages[i];

		one->stack.pages[i] = memcpy(at, page, sizeof(*page) + page->size);
		at += page_bytes(page);
	}
}

int parking_add(struct parking *p, const struct pa_sample *s, size_t size,
		const struct stack_copy *stack, uint32_t file)
{
	size_t bytes = sizeof(struct parked) + records_bytes(size, stack);
	struct parked *one;

	if (p->bytes + bytes > PARKING_MAX_BYTES)
		return -ENOSPC;
	one = malloc(bytes);
	if (!one)
		return -ENOMEM;
	*one = (struct parked){ .file = file, .bytes = bytes };
	copy_records(one, s, size, stack);
	parking_give_back(p, one);
	return 0;
}

void parking_give_back(struct parking *p, struct parked *one)
{
	one->next = NULL;
	*p->end = one;
	p->end = &one->next;
	p->bytes += one->bytes;
}

struct parked *parking_take(struct parking *p, parked_due_fn is_due, void *ctx)
{
	struct parked **link = &p->first, *one;

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

uint64_t parking_oldest_ns(const struct parking *p)
{
	uint64_t oldest = UINT64_MAX;

	for (const struct parked *one = p->first; one; one = one->next)
		if (one->sample->head.time_ns < oldest)
			oldest = one->sample->head.time_ns;
	return oldest;
}
