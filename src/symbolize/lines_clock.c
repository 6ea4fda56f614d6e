/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolize/lines_clock.h"

#include "base/clock.h"

void lines_clock_init(struct lines_clock *c, const struct elf_sources *src)
{
	*c = (struct lines_clock){ .images = { src->image, src->debug, src->alt },
				   .left_ns = src->max_cpu_ns,
				   .used_ns = src->lines_cpu_ns,
				   .is_limited = src->max_cpu_ns != 0 };
}

void lines_clock_start(struct lines_clock *c)
{
	if (!c->is_limited)
		return;
	c->began_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	for (size_t i = 0; i < LINES_CLOCK_IMAGES; i++)
		if (c->images[i])
			c->pauses[i] = elf_image_pause(c->images[i], c->began_ns + c->left_ns);
}

void lines_clock_stop(struct lines_clock *c)
{
	uint64_t took_ns;

	if (!c->is_limited)
		return;
	for (size_t i = 0; i < LINES_CLOCK_IMAGES; i++)
		if (c->images[i])
			elf_image_resume(c->images[i], &c->pauses[i]);
	took_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) - c->began_ns;
	c->left_ns = took_ns < c->left_ns ? c->left_ns - took_ns : 0;
	if (c->used_ns)
		*c->used_ns += took_ns;
}
