/* SPDX-License-Identifier: Apache-2.0 */
/* Names of any bytes: what is written must be UTF-8 without controls, and as a frame keep to its line. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "write/clean_text.h"

#define OUT_MAX_BYTES (64u << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(int (*append)(struct buf *, const char *), const char *s, bool is_frame)
{
	struct buf b = BUF_INIT(OUT_MAX_BYTES);

	if (append(&b, s) == 0 && buf_append(&b, "", 1) == 0) {
		if (!text_is_clean(b.data) || strlen(b.data) + 1 != b.len)
			abort();
		if (is_frame && strchr(b.data, ';'))
			abort();
	}
	buf_done(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *s = malloc(size + 1);

	if (!s)
		return 0;
	if (size)
		memcpy(s, data, size);
	s[size] = '\0';
	check(text_append_clean, s, false);
	check(text_append_frame, s, true);
	free(s);
	return 0;
}
