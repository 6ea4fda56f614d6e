// SPDX-License-Identifier: Apache-2.0
/*
 * sched_events [PID...]: every context switch and wake-up of these processes, or of all, on standard output
 * (struct sched_event), from the line "ready" on standard error until the end of standard input. Fails if one
 * was lost.
 */
#include <bpf/libbpf.h>
#include <linux/types.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "sched_events.h"
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wcast-qual"
#include "sched_events.skel.h"
#pragma GCC diagnostic pop

#define DRAIN_MS 20

static int write_event(void *ctx, void *data, size_t size)
{
	return fwrite(data, size, 1, stdout) == 1 ? 0 : -1;
}

static int drain_until_eof(struct ring_buffer *ring)
{
	struct pollfd in = { .fd = STDIN_FILENO, .events = POLLIN };
	char c;
	int r = 0;

	while (r >= 0 && (poll(&in, 1, DRAIN_MS) == 0 || read(STDIN_FILENO, &c, 1) > 0))
		r = ring_buffer__consume(ring);
	return r < 0 ? r : ring_buffer__consume(ring);
}

int main(int argc, char **argv)
{
	struct sched_events_bpf *skel = sched_events_bpf__open();
	struct ring_buffer *ring;
	int r;

	if (!skel || argc > EVENTS_MAX_PIDS + 1)
		return 2;
	for (int i = 1; i < argc; i++)
		skel->rodata->pids[i - 1] = (__u32)strtoul(argv[i], NULL, 10);
	if (sched_events_bpf__load(skel) < 0 || sched_events_bpf__attach(skel) < 0)
		return 1;
	ring = ring_buffer__new(bpf_map__fd(skel->maps.events), write_event, NULL, NULL);
	if (!ring)
		return 1;
	(void)fputs("ready\n", stderr);
	r = drain_until_eof(ring);
	sched_events_bpf__detach(skel);
	if (r >= 0)
		r = ring_buffer__consume(ring);
	if (skel->bss->nr_lost || r < 0 || fflush(stdout))
		return 1;
	ring_buffer__free(ring);
	sched_events_bpf__destroy(skel);
	return 0;
}
