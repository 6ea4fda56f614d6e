/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel's list of its symbols, as text: bytes in, tables out. */
#ifndef SYMBOLIZE_KALLSYMS_H
#define SYMBOLIZE_KALLSYMS_H

#include "symbolize/ksym_table.h"

/* What a list told. */
struct kernel_symbols {
	struct ksym_table lasting; /* the kernel and its modules: the same until one of them goes */
	struct ksym_table passing; /* BPF programs, probes: there one moment, gone the next */
	uint32_t nr_zeroes;        /* functions whose address is not shown */
};

void kernel_symbols_init(struct kernel_symbols *to);
void kernel_symbols_done(struct kernel_symbols *to);

/* Reads fd to its end. Lines of another shape are passed over; a list of nothing but zeroes is not
 * read to its end. No allocation per line. -ENOMEM, or what reading it gives. */
int kallsyms_read(int fd, struct kernel_symbols *to);

#endif
