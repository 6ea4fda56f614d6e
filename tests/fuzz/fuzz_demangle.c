/* SPDX-License-Identifier: Apache-2.0 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "symbolize/demangle.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const size_t limits[] = { 1, 16, 256, DEMANGLE_MAX_OUT };
	char *symbol = malloc(size + 1);

	if (!symbol)
		return 0;
	memcpy(symbol, data, size);
	symbol[size] = '\0';
	for (size_t i = 0; i < sizeof(limits) / sizeof(*limits); i++) {
		char *to = malloc(limits[i]); /* so that a sanitizer knows its end */

		if (to && demangle(symbol, to, limits[i]) && strlen(to) >= limits[i])
			abort();
		free(to);
	}
	free(symbol);
	return 0;
}
