/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Why the BPF ring buffer refused a record: it was full, or its lock was held. The kernel does not
 * report which. */
#ifndef BPF_RING_ROOM_H
#define BPF_RING_ROOM_H

#include "abi.h"

#define PA_RING_HEADER_BYTES 8 /* include/uapi/linux/bpf.h: BPF_RINGBUF_HDR_SZ */

/* True if there is no room for a record of so many bytes. As in kernel/bpf/ringbuf.c: records begin
 * at multiples of 8, and one byte always stays free. */
PA_INLINE int pa_ring_is_full(__u64 in_use, __u64 bytes, __u64 ring_bytes)
{
	__u64 taken = (bytes + PA_RING_HEADER_BYTES + 7) / 8 * 8;

	return in_use + taken >= ring_bytes;
}

#endif
