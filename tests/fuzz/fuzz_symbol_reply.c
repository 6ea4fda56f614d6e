/* SPDX-License-Identifier: Apache-2.0 */
/* The reply to a symbol job, as a process that was taken over by a hostile file might write it: all that an
 * accepted reply refers to can be read. */
#include <stdint.h>
#include <string.h>

#include "symbolize/symbol_reply.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static size_t nr_chars; /* so that reading is not optimised away */

static void read_frame(const struct symbol_reply *r, const struct symbol_reply_frame *f)
{
	nr_chars += strlen(r->strings + f->name) + strlen(r->strings + f->system_name) +
		    strlen(r->strings + f->filename);
}

static void read_all(const struct symbol_reply *r)
{
	for (uint32_t i = 0; i < r->head->nr_answers; i++) {
		const struct symbol_answer *a = &r->answers[i];

		for (uint32_t j = 0; j < a->nr_frames; j++)
			read_frame(r, &r->frames[a->first_frame + j]);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct buf bytes = BUF_INIT(size + 1);
	struct symbol_reply reply = { 0 };
	uint32_t nr_items = 0;

	/* The number of items is known to the reader; here it is the one that the head claims. */
	if (size >= sizeof(nr_items))
		memcpy(&nr_items, data, sizeof(nr_items));
	if (buf_append(&bytes, data, size) == 0 && symbol_reply_read(&bytes, nr_items, &reply) == 0)
		read_all(&reply);
	symbol_reply_done(&reply);
	buf_done(&bytes);
	return 0;
}
