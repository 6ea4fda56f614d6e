/* SPDX-License-Identifier: Apache-2.0 */
/* A GNU build-id. It is used to find debug files, never as proof of identity: anyone who links a
 * file can forge it. */
#ifndef BASE_BUILD_ID_H
#define BASE_BUILD_ID_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define BUILD_ID_MAX_BYTES                                                                         \
	20 /* what the kernel passes on (BUILD_ID_SIZE_MAX); longer ones are truncated */
#define BUILD_ID_HEX_SIZE (2 * BUILD_ID_MAX_BYTES + 1)

struct build_id {
	uint8_t bytes[BUILD_ID_MAX_BYTES];
	uint8_t len; /* bytes; 0: none */
};

static inline bool build_id_eq(const struct build_id *a, const struct build_id *b)
{
	return a->len == b->len && memcmp(a->bytes, b->bytes, a->len) == 0;
}

static inline const char *build_id_hex(const struct build_id *id, char hex[BUILD_ID_HEX_SIZE])
{
	hex[0] = '\0';
	for (unsigned int i = 0; i < id->len; i++)
		(void)snprintf(hex + 2 * i, 3, "%02x", id->bytes[i]);
	return hex;
}

#endif
