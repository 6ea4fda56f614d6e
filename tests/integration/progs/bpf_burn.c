// SPDX-License-Identifier: Apache-2.0
/*
 * bpf_burn [SECONDS [MORE]]: loads a BPF program named "burn" and has the kernel run it over and over;
 * then, for MORE seconds, one named "next", which may get the memory of the first.
 *
 * Truth: nearly all time is spent in the kernel, in bpf_prog_<tag>_burn, called by the system call
 * that main → burn_loop makes (through libc). With the process the program is gone. Status 77: it cannot be loaded.
 */
#include "prog.h"

#include <linux/bpf.h>
#include <sys/syscall.h>

#define TURNS 4000        /* of the loop in the program; the verifier follows each */
#define RUNS_PER_CALL 200 /* of the program: about a millisecond */
#define PACKET_BYTES 64

#define INSN(c, d, s, o, i)                                                                        \
	((struct bpf_insn){ .code = (c), .dst_reg = (d), .src_reg = (s), .off = (o), .imm = (i) })

static int load(const char *name)
{
	const struct bpf_insn insns[] = {
		INSN(BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_0, 0, 0, TURNS),
		INSN(BPF_ALU64 | BPF_SUB | BPF_K, BPF_REG_0, 0, 0, 1),
		INSN(BPF_JMP | BPF_JNE | BPF_K, BPF_REG_0, 0, -2, 0),
		INSN(BPF_JMP | BPF_EXIT, 0, 0, 0, 0),
	};
	union bpf_attr attr = {
		.prog_type = BPF_PROG_TYPE_SOCKET_FILTER,
		.insn_cnt = sizeof(insns) / sizeof(insns[0]),
		.insns = (__u64)(unsigned long)insns,
		.license = (__u64)(unsigned long)"GPL",
	};

	memcpy(attr.prog_name, name, strlen(name) + 1);
	return (int)syscall(SYS_bpf, BPF_PROG_LOAD, &attr, sizeof(attr));
}

NOINLINE static int burn_loop(int fd)
{
	static char packet[PACKET_BYTES];
	union bpf_attr attr = { .test = { .prog_fd = (__u32)fd,
					  .repeat = RUNS_PER_CALL,
					  .data_in = (__u64)(unsigned long)packet,
					  .data_size_in = sizeof(packet) } };

	while (!prog_stopped)
		if (syscall(SYS_bpf, BPF_PROG_TEST_RUN, &attr, sizeof(attr)) < 0 && errno != EINTR)
			return 77;
	return 0;
}

/* The kernel gives a program's memory back a little later. */
NOINLINE static int burn_next(unsigned long seconds)
{
	struct timespec a_while = { .tv_nsec = (long)(300 * NS_PER_MS) };
	int fd;

	nanosleep(&a_while, NULL);
	fd = load("next");
	if (fd < 0)
		return 77;
	prog_stopped = 0;
	prog_stop_after(seconds);
	return burn_loop(fd);
}

int main(int argc, char **argv)
{
	unsigned long more = arg_number(argc, argv, 2, 0);
	int fd, r;

	prog_stop_after(arg_number(argc, argv, 1, 0));
	fd = load("burn");
	if (fd < 0)
		return 77;
	prog_say_ready();
	r = burn_loop(fd);
	close(fd);
	return r == 0 && more ? burn_next(more) : r;
}
