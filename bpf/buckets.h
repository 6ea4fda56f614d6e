/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The buckets of a histogram of times, shared between kernel and user space. Each octave, from a
 * power of two to the next, has PA_HIST_PARTS buckets of equal width, so that a value is known to 1
 * part in 2 * PA_HIST_PARTS + 1 wherever it lies. Nothing is configured: two histograms are added
 * bucket by bucket.
 */
#ifndef BPF_BUCKETS_H
#define BPF_BUCKETS_H

#include "abi.h"

#define PA_HIST_PARTS 17   /* the fewest with an error of at most 3 %: 1/35; 16 would have 1/33 */
#define PA_HIST_OCTAVES 48 /* 78 hours; longer times are counted in the last bucket */
#define PA_HIST_BUCKETS (PA_HIST_OCTAVES * PA_HIST_PARTS)

struct pa_histogram {
	__u64 sum_ns; /* of the values themselves */
	__u64 counts[PA_HIST_BUCKETS];
};

/* The position of the highest bit of v, which is not 0. Without branches, for the verifier's sake. */
PA_INLINE __u32 pa_highest_bit(__u64 v)
{
	__u32 bit = 0, step;

#define PA_HALVE(n)                                                                                \
	step = (__u32)(v >> (n) != 0) * (n);                                                       \
	v >>= step;                                                                                \
	bit += step
	PA_HALVE(32);
	PA_HALVE(16);
	PA_HALVE(8);
	PA_HALVE(4);
	PA_HALVE(2);
	PA_HALVE(1);
#undef PA_HALVE
	return bit;
}

/* 0 is counted as 1. */
PA_INLINE __u32 pa_hist_bucket(__u64 ns)
{
	__u64 v = ns ? ns : 1;
	__u32 octave = pa_highest_bit(v);

	if (octave >= PA_HIST_OCTAVES)
		return PA_HIST_BUCKETS - 1;
	return octave * PA_HIST_PARTS + (__u32)((v - (1ull << octave)) * PA_HIST_PARTS >> octave);
}

#endif
