/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Included before each BPF source by the compiler's -include: puts a macro before every helper that a sample calls, so
 * that the unchanged programs count their calls, or leave some of them out. What to leave out is constant when the
 * programs are loaded: the verifier removes it, and the macros cost nothing.
 */
#ifndef BENCH_LEAVE_OUT_BPF_H
#define BENCH_LEAVE_OUT_BPF_H

#include "leave_out.h"
#include "maps.bpf.h"

#include <bpf/bpf_core_read.h>

extern const volatile __u32 left_out; /* a bit per part */
extern __u64 nr_calls[NR_PARTS], nr_bytes[NR_PARTS];
extern __u64 spare_ids;                 /* instead of the real ones */
extern __u32 spare_target;              /* instead of what is looked up */
extern struct pa_process spare_process; /* instead of the list of mappings */

static __always_inline bool is_left_out(enum part part, u64 bytes)
{
	if (left_out & 1u << PART_COUNTING) {
		nr_calls[part]++;
		nr_bytes[part] += bytes;
	}
	return left_out & 1u << part;
}

/* A call that moves so many bytes; and what it returns where it is left out. */
#define CALL_MOVING(part, bytes, call, instead)                                                    \
	({                                                                                         \
		typeof(call) ret_;                                                                 \
		if (is_left_out(part, bytes))                                                      \
			ret_ = (typeof(ret_))(instead);                                            \
		else                                                                               \
			ret_ = (call);                                                             \
		ret_;                                                                              \
	})
#define CALL(part, call, instead) CALL_MOVING(part, 0, call, instead)

#define PART_OF_MAP(map)                                                                           \
	_Generic((map), struct pa_stats_map *                                                      \
		 : PART_TICKS, struct pa_scratch_map *                                             \
		 : PART_SCRATCH, struct pa_target_map *                                            \
		 : PART_TARGET, struct pa_process_map *                                            \
		 : PART_PROCESS, struct pa_cache_map *                                             \
		 : PART_RULES, default                                                             \
		 : PART_TABLES)
#define SPARE_OF_MAP(map)                                                                          \
	_Generic((map), struct pa_target_map *                                                     \
		 : (void *)&spare_target, struct pa_process_map *                                  \
		 : (void *)&spare_process, default                                                 \
		 : NULL)

#define bpf_map_lookup_elem(map, key)                                                              \
	CALL(PART_OF_MAP(map), (bpf_map_lookup_elem)(map, key), SPARE_OF_MAP(map))
#define bpf_get_current_pid_tgid() CALL(PART_IDS, (bpf_get_current_pid_tgid)(), spare_ids)
#define bpf_get_smp_processor_id() CALL(PART_CPU, (bpf_get_smp_processor_id)(), 0)
#define bpf_ktime_get_ns() CALL(PART_TIME, (bpf_ktime_get_ns)(), 1)
#define bpf_get_current_task_btf() CALL(PART_TASK, (bpf_get_current_task_btf)(), NULL)
#define bpf_task_pt_regs(task) CALL(PART_ENTRY, (bpf_task_pt_regs)(task), 0)
#define bpf_get_current_comm(to, size) CALL(PART_NAMES, (bpf_get_current_comm)(to, size), 0)
#define bpf_probe_read_kernel(to, size, from)                                                      \
	CALL((size) == PA_COMM_SIZE                 ? PART_NAMES                                   \
	     : (size) == sizeof(struct pa_ctx_regs) ? PART_ENTRY                                   \
						    : PART_TASK,                                   \
	     (bpf_probe_read_kernel)(to, size, from), 0)
#define bpf_probe_read_user(to, size, from)                                                        \
	CALL_MOVING((size) >= LEAST_WINDOW_BYTES ? PART_WINDOW : PART_WORDS, size,                 \
		    (bpf_probe_read_user)(to, size, from), 0)
#define LEAST_WINDOW_BYTES 64
#define bpf_ringbuf_query(ring, what) CALL(PART_QUERY, (bpf_ringbuf_query)(ring, what), 0)
#define bpf_ringbuf_output(ring, from, size, flags)                                                \
	CALL_MOVING(PART_RING, size, (bpf_ringbuf_output)(ring, from, size, flags), 0)

#endif
