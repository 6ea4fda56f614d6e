/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_INTEGRATION_RING_HOP_H
#define TESTS_INTEGRATION_RING_HOP_H

#include <stdint.h>

struct ring;
typedef uint64_t ring_hop(const struct ring *r, unsigned int left, uint64_t x);

struct ring {
	ring_hop *hops[3];
	ring_hop *bottom;
};

ring_hop hop_a, hop_b, hop_c;

#endif
