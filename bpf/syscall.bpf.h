/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Included by the register header of an architecture, which defines SYSCALL_CODE and
 * SYSCALL_BYTES. */
#ifndef BPF_SYSCALL_BPF_H
#define BPF_SYSCALL_BPF_H

/* False where a signal handler or a new program is about to begin. */
static __always_inline bool is_behind_syscall(u64 pc)
{
	u32 code = 0;

	return !bpf_probe_read_user(&code, SYSCALL_BYTES, (const void *)(pc - SYSCALL_BYTES)) &&
	       code == SYSCALL_CODE;
}
_Static_assert(SYSCALL_BYTES <= sizeof(u32), "it is read into a word whose first byte is lowest");

#endif
