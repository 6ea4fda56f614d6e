/* SPDX-License-Identifier: Apache-2.0 */
/* A record that the ring refuses although there is room was refused because of the ring's lock. */
#include "bpf/ring_room.h"
#include "tap.h"

int main(void)
{
	ok(!pa_ring_is_full(0, 88, 4096), "ring: an empty ring has room");
	ok(!pa_ring_is_full(4096 - 104, 88, 4096), "ring: 8 bytes are left behind the record");
	ok(pa_ring_is_full(4096 - 96, 88, 4096),
	   "ring: a record never fills the ring to its last byte");
	ok(pa_ring_is_full(4096 - 96, 81, 4096), "ring: records begin at multiples of 8");
	ok(!pa_ring_is_full(4096 - 104, 81, 4096), "ring: and end there");
	ok(pa_ring_is_full(0, 4096, 4096),
	   "ring: a record as large as the ring finds no room in it");
	return tap_done();
}
