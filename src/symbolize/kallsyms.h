/* SPDX-License-Identifier: Apache-2.0 */
/* Parses the kernel's list of symbols: bytes in, tables out. */
#ifndef SYMBOLIZE_KALLSYMS_H
#define SYMBOLIZE_KALLSYMS_H

#include "symbolize/ksym_table.h"

/* The contents of a list. */
struct kernel_symbols {
	struct ksym_table lasting; /* the kernel and its modules: constant until one is unloaded */
	struct ksym_table passing; /* BPF programs, probes: they come and go */
	uint32_t nr_zeroes;        /* functions whose address is not shown */
};

void kernel_symbols_init(struct kernel_symbols *to);
void kernel_symbols_done(struct kernel_symbols *to);

/* Reads fd to its end. Lines of another format are skipped; a list of only zeroes is not read to
 * its end. No allocation per line. -ENOMEM, or the error of reading. */
int kallsyms_read(int fd, struct kernel_symbols *to);

#endif
