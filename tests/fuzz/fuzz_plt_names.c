/* SPDX-License-Identifier: Apache-2.0 */
/* A whole file: the names that relocations give to its stubs. */
#include "names_target.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	return try_names(data, size, plt_names_each);
}
