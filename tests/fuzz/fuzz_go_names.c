/* SPDX-License-Identifier: Apache-2.0 */
/* A whole file: the names that the table of Go's runtime gives to its code. */
#include "names_target.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	return try_names(data, size, go_names_each);
}
