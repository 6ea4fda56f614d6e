/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_program_times: what the kernel's statistics of BPF programs cost. Runs an empty program with and without
 * them, in turns; prints the nanoseconds per run, and the run time that the statistics themselves say. As root.
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define ROUNDS 3
#define RUNS 20000000

static int load_empty(void)
{
	const struct bpf_insn program[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K }, /* r0 = 0 */
		{ .code = BPF_JMP | BPF_EXIT },
	};

	return bpf_prog_load(BPF_PROG_TYPE_SOCKET_FILTER, "empty", "GPL", program,
			     sizeof(program) / sizeof(program[0]), NULL);
}

/* Nanoseconds per run; -1: failed. */
static int run(int fd)
{
	unsigned char packet[64] = { 0 };
	LIBBPF_OPTS(bpf_test_run_opts, opts, .data_in = packet, .data_size_in = sizeof(packet),
		    .repeat = RUNS);

	return bpf_prog_test_run_opts(fd, &opts) < 0 ? -1 : (int)opts.duration;
}

int main(void)
{
	int fd = load_empty();

	if (fd < 0) {
		fprintf(stderr, "cannot load a BPF program: %s\n", strerror(errno));
		return 1;
	}
	printf("round,ns_without,ns_with,ns_counted\n");
	for (int i = 0; i < ROUNDS; i++) {
		struct bpf_prog_info before = { 0 }, after = { 0 };
		__u32 len = sizeof(before);
		int without = run(fd), statistics = bpf_enable_stats(BPF_STATS_RUN_TIME), with;

		if (statistics < 0 || bpf_obj_get_info_by_fd(fd, &before, &len) < 0) {
			fprintf(stderr, "no statistics: %s\n", strerror(errno));
			return 1;
		}
		with = run(fd);
		len = sizeof(after);
		if (without < 0 || with < 0 || bpf_obj_get_info_by_fd(fd, &after, &len) < 0)
			return 1;
		printf("%d,%d,%d,%llu\n", i, without, with,
		       (after.run_time_ns - before.run_time_ns) / (after.run_cnt - before.run_cnt));
		close(statistics);
	}
	close(fd);
	return 0;
}
