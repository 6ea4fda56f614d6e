/* SPDX-License-Identifier: Apache-2.0 */
#include <stdint.h>
#include <stdlib.h>

#include "http/http_request.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Whether the text is in the head, or absent. */
static bool is_inside(struct http_text t, const char *head, size_t n)
{
	return !t.at || (t.at >= head && t.len <= n && t.at <= head + n - t.len);
}

/* The same length, whether the bytes come at once or one by one. */
static size_t head_length(const char *bytes, size_t size)
{
	size_t resume = 0, whole = http_head_length(bytes, size, &resume), len = 0;

	resume = 0;
	for (size_t n = 1; n <= size && !len; n++)
		len = http_head_length(bytes, n, &resume);
	if (len != whole)
		abort();
	return whole;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *bytes = (const char *)data, *why = NULL;
	struct http_request r;
	enum http_status status;
	size_t n;

	if (size > HTTP_HEAD_MAX_BYTES)
		return 0;
	n = head_length(bytes, size);
	if (!n)
		n = size; /* what the server never parses is parsed as well */
	status = http_request_parse(bytes, n, &r, &why);
	if ((status == HTTP_OK) != (why == NULL))
		abort(); /* a refusal has a reason */
	if (!is_inside(r.path, bytes, n) || !is_inside(r.query, bytes, n) ||
	    !is_inside(r.host, bytes, n))
		abort();
	if (status == HTTP_OK && (!r.path.len || *r.path.at != '/'))
		abort();
	(void)http_host_is_local(&r);
	return 0;
}
