// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The kernel's functions in the format of /proc/kallsyms, used if that file shows only zeroes.
 * Loaded separately and on demand (src/collect/ksym_iter.c). Written piece by piece:
 * bpf_seq_printf() takes three times as long.
 */
#include "vmlinux.h"

#include <bpf/bpf_helpers.h>

#define HEAD_BYTES 19  /* "ffffffff81000000 T " */
#define NAME_BYTES 256 /* longer ones are truncated: a C name has at most 128 */

/* "ffffffff81000000 T " */
static __always_inline void write_head(struct seq_file *seq, u64 value, char type)
{
	char head[HEAD_BYTES];

#pragma unroll
	for (int i = 0; i < 16; i++) {
		u8 digit = value >> (60 - 4 * i) & 15;

		head[i] = digit < 10 ? '0' + digit : 'a' + digit - 10;
	}
	head[16] = ' ';
	head[17] = type;
	head[18] = ' ';
	bpf_seq_write(seq, head, sizeof(head));
}

/* A string in kernel memory. */
static __always_inline void write_string(struct seq_file *seq, const char *from)
{
	char text[NAME_BYTES];
	long n = bpf_probe_read_kernel_str(text, sizeof(text), from);

	if (n > 1 && n <= NAME_BYTES)
		bpf_seq_write(seq, text, n - 1);
}

SEC("iter/ksym")
int pa_ksyms(struct bpf_iter__ksym *ctx)
{
	struct seq_file *seq = ctx->meta->seq;
	struct kallsym_iter *sym = ctx->ksym;
	char type, lower;

	if (!sym) /* the end */
		return 0;
	type = sym->type;
	lower = type | 0x20;
	if (lower != 't' && lower != 'w')
		return 0;
	if (!sym->module_name[0]) {
		write_head(seq, sym->value, type);
		write_string(seq, sym->name);
	} else {
		/* For modules the iterator reports all symbols and which of them are exported;
		 * upper case means exported. */
		write_head(seq, sym->value, sym->exported ? type & ~0x20 : lower);
		write_string(seq, sym->name);
		bpf_seq_write(seq, "\t[", 2);
		write_string(seq, sym->module_name);
		bpf_seq_write(seq, "]", 1);
	}
	bpf_seq_write(seq, "\n", 1);
	return 0;
}
