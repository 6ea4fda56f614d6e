/* SPDX-License-Identifier: Apache-2.0 */
/* Names of the kernel's code. */
#include "agent/source.h"

int source_open_kernel(struct capture *c, struct source *s)
{
	return symbolizer_new_kernel(c->cfg.kallsyms_path, &s->symbolizer, &c->kernel_source);
}
