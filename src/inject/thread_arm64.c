/* SPDX-License-Identifier: Apache-2.0 */
/* Calls on AArch64. The frame is that of arch/arm64/kernel/signal.c. */
#include "inject/thread_state.h"

#if defined(__aarch64__)
#include <asm/sigcontext.h>
#include <elf.h>
#include <errno.h>
#include <linux/futex.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>

#define SVC_INSN 0xd4000001u /* svc #0 */
#define PSTATE_MODE_32 0x10ull
#define PSTATE_BRANCH_TYPE 0xc00ull
#define KEEP_ALTSTACK 0x4 /* see thread_x86.c */
#define NT_SVE 0x405
#define NT_ZA 0x40c
#define NT_GCS 0x410
#define SVE_HEADER_FLAGS_OFFSET 12 /* struct user_sve_header */
#define SVE_FLAG_LIVE 1
#define ZA_HEADER_BYTES 16 /* more: ZA is in use */

struct signal_frame {
	uint8_t info[128];
	uint64_t flags, link;
	struct {
		uint64_t sp;
		int32_t flags, padding;
		uint64_t size;
	} stack;
	uint64_t sigmask;
	uint8_t unused[120];
	struct sigcontext context __attribute__((aligned(16)));
	uint64_t fp, lr; /* a frame record, so that the caller is found */
};
_Static_assert(offsetof(struct signal_frame, context) == 128 + 176, "struct ucontext");

static const uint8_t syscall_bytes[] = { 0x01, 0x00, 0x00, 0xd4, 0xc0, 0x03, 0x5f, 0xd6 };
/* mov x8, #139; svc #0 */
static const uint8_t sigreturn_bytes[] = { 0x68, 0x11, 0x80, 0xd2, 0x01, 0x00, 0x00, 0xd4 };
const struct code_pattern thread_syscall_code = { syscall_bytes, sizeof(syscall_bytes), 4 };
const struct code_pattern thread_sigreturn_code = { sigreturn_bytes, sizeof(sigreturn_bytes), 4 };

bool thread_syscall_is_fragile(long nr, const uint64_t args[6])
{
	switch (nr) {
	case SYS_epoll_pwait:
	case SYS_epoll_pwait2:
	case SYS_semop:
	case SYS_semtimedop:
	case SYS_rt_sigtimedwait:
	case SYS_io_getevents:
	case SYS_io_pgetevents:
	case SYS_io_uring_enter:
		return true;
	default:
		return false;
	}
}

/* Whether executing the system call again continues it. The kernel does not show a tracer which
 * ones it would continue by restart_syscall(). */
static bool is_timed(const struct user_regs_struct *r)
{
	switch (r->regs[8]) {
	case SYS_restart_syscall:
	case SYS_nanosleep:
		return true;
	case SYS_clock_nanosleep:
		return !(r->regs[1] & TIMER_ABSTIME);
	case SYS_futex:
		/* FUTEX_WAIT_BITSET waits until a point in time, FUTEX_WAIT for a duration */
		return (r->regs[1] & FUTEX_CMD_MASK) == FUTEX_WAIT && r->regs[3] != 0;
	default:
		return false;
	}
}

static int read_set(pid_t tid, uintptr_t type, void *to, size_t size, size_t *ret_bytes)
{
	struct iovec v = { to, size };

	if (ptrace(PTRACE_GETREGSET, tid, type, &v) < 0)
		return -errno;
	*ret_bytes = v.iov_len;
	return 0;
}

/* Vector state beyond FPSIMD is not in our frame: such a thread is tried again later. */
static const char *find_obstacle(pid_t tid)
{
	uint8_t set[1024];
	uint16_t flags;
	size_t n = 0;

	if (read_set(tid, NT_SVE, set, sizeof(set), &n) == 0 && n >= 16) {
		memcpy(&flags, set + SVE_HEADER_FLAGS_OFFSET, sizeof(flags));
		if (flags & SVE_FLAG_LIVE)
			return "its SVE registers are in use";
	}
	if (read_set(tid, NT_ZA, set, sizeof(set), &n) == 0 && n > ZA_HEADER_BYTES)
		return "its SME registers are in use";
	if (read_set(tid, NT_GCS, set, sizeof(set), &n) == 0 && n >= 8 && (set[0] & 1))
		return "it has a guarded control stack";
	return NULL;
}

static int read_place(pid_t tid, struct thread_state *st)
{
	long insn;
	int nr;
	size_t n = 0;
	int r = read_set(tid, NT_ARM_SYSTEM_CALL, &nr, sizeof(nr), &n);

	if (r < 0)
		return r;
	/* The kernel has prepared the restart already: the next instruction is the system call. */
	errno = 0;
	insn = ptrace(PTRACE_PEEKTEXT, tid, st->regs.pc & ~7ull, NULL);
	if (insn == -1 && errno)
		return -errno;
	if (st->regs.pc & 4)
		insn = (long)((uint64_t)insn >> 32);
	st->syscall_nr = (long)st->regs.regs[8];
	/* afterwards its result is in that register */
	st->syscall_arg = (uint32_t)insn == SVC_INSN ? st->regs.regs[0] : 0;
	if ((uint32_t)insn == SVC_INSN)
		st->place = is_timed(&st->regs) ? THREAD_IN_TIMED_SYSCALL : THREAD_IN_SYSCALL;
	else
		st->place = nr >= 0 ? THREAD_IN_SYSCALL : THREAD_IN_USER_CODE;
	return 0;
}

int thread_state_read(pid_t tid, struct thread_state *ret_state)
{
	struct thread_state *st = ret_state;
	size_t n = 0;
	int r = read_set(tid, NT_PRSTATUS, &st->regs, sizeof(st->regs), &n);

	st->obstacle = NULL;
	st->must_restart = false;
	if (r < 0)
		return r;
	if (n != sizeof(st->regs) || (st->regs.pstate & PSTATE_MODE_32)) {
		st->obstacle = "it runs 32-bit code";
		return 0;
	}
	st->pc = st->regs.pc;
	st->sp = st->regs.sp;
	if (ptrace(PTRACE_GETSIGMASK, tid, sizeof(st->sigmask), &st->sigmask) < 0)
		return -errno;
	st->obstacle = find_obstacle(tid);
	r = read_set(tid, NT_FPREGSET, st->fp, sizeof(st->fp), &st->fp_bytes);
	return r < 0 ? r : read_place(tid, st);
}

static void save_fp(const struct thread_state *st, struct sigcontext *to)
{
	struct user_fpsimd_struct fp;
	struct fpsimd_context c = { .head = { FPSIMD_MAGIC, sizeof(c) } };

	memcpy(&fp, st->fp, sizeof(fp));
	c.fpsr = fp.fpsr;
	c.fpcr = fp.fpcr;
	memcpy(c.vregs, fp.vregs, sizeof(c.vregs));
	memcpy(to->__reserved, &c, sizeof(c)); /* zeros follow: the end of the list */
}

void thread_state_frame(const struct thread_state *st, const struct thread_call *call,
			struct thread_frame *ret_frame)
{
	struct thread_frame *f = ret_frame;
	struct signal_frame s = { .stack.flags = KEEP_ALTSTACK, .sigmask = st->sigmask };

	memcpy(s.context.regs, st->regs.regs, sizeof(s.context.regs));
	s.context.sp = st->regs.sp;
	s.context.pc = st->regs.pc;
	s.context.pstate = st->regs.pstate;
	save_fp(st, &s.context);
	s.fp = st->regs.regs[29];
	s.lr = st->regs.pc;

	f->addr = (st->sp - sizeof(s)) & ~15ull;
	f->nr_bytes = sizeof(s);
	memcpy(f->bytes, &s, sizeof(s));
	f->regs = st->regs;
	f->regs.sp = f->addr;
	f->regs.pc = call->function;
	f->regs.pstate &= ~PSTATE_BRANCH_TYPE;
	f->regs.regs[29] = f->addr + offsetof(struct signal_frame, fp);
	f->regs.regs[30] = call->sigreturn;
	memcpy(f->regs.regs, call->args, sizeof(call->args));
	if (call->is_syscall)
		f->regs.regs[8] = (uint64_t)call->syscall_nr;
}

/* With another program counter the kernel restarts no system call. */
int thread_state_set_regs(pid_t tid, const struct user_regs_struct *regs)
{
	struct iovec v = { (void *)(uintptr_t)regs, sizeof(*regs) };

	return ptrace(PTRACE_SETREGSET, tid, NT_PRSTATUS, &v) < 0 ? -errno : 0;
}

int thread_state_abandon(pid_t tid, const struct thread_frame *frame, uint64_t sigreturn)
{
	struct user_regs_struct r = frame->regs;

	r.pc = sigreturn;
	r.sp = frame->addr;
	return thread_state_set_regs(tid, &r);
}
#else
typedef int thread_arm64_is_elsewhere;
#endif
