/* SPDX-License-Identifier: Apache-2.0 */
/* Calls on x86-64. The frame is that of arch/x86/kernel/signal_64.c. */
#include "inject/thread_state.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <elf.h>
#include <errno.h>
#include <linux/futex.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#define RED_ZONE_BYTES 128
#define NOT_A_SYSCALL (-1ull)
#define SYSCALL_INSN_BYTES 2
#define FLAG_TRAP 0x100ull
#define FLAG_DIRECTION 0x400ull

/* The kernel's own error numbers (include/linux/errno.h), which only a tracer sees. */
#define KERNEL_RESTARTSYS (-512)
#define KERNEL_RESTARTNOINTR (-513)
#define KERNEL_RESTARTNOHAND (-514)
#define KERNEL_RESTART_RESTARTBLOCK (-516)

/* arch/x86/include/uapi/asm/ucontext.h */
#define FRAME_HAS_XSTATE 0x1
#define FRAME_HAS_SS 0x2
#define FRAME_STRICT_SS 0x4
/* No mode of an alternate stack: the kernel then leaves the thread's own as it is, which no tracer
 * can read. */
#define FRAME_KEEP_ALTSTACK 0x4

/* arch/x86/include/uapi/asm/sigcontext.h */
#define XSTATE_MAGIC1 0x46505853u
#define XSTATE_MAGIC2 0x46505845u
#define XSTATE_SW_OFFSET 464
#define XSTATE_HEADER_OFFSET 512
#define XSTATE_MIN_BYTES 576
#define XSTATE_TILE_DATA (1ull << 18) /* AMX: only for threads that asked for it */
#define XSTATE_SHADOW_STACK (1ull << 11)

struct xstate_sw {
	uint32_t magic1, extended_bytes;
	uint64_t features;
	uint32_t xstate_bytes, padding[7];
};

struct signal_frame {
	uint64_t return_addr;
	uint64_t flags, link;
	struct {
		uint64_t sp;
		int32_t flags, padding;
		uint64_t size;
	} stack;
	uint64_t r8, r9, r10, r11, r12, r13, r14, r15, di, si, bp, bx, dx, ax, cx, sp, ip, eflags;
	uint16_t cs, gs, fs, ss;
	uint64_t err, trapno, oldmask, cr2, fp, reserved[8];
	uint64_t sigmask;
	uint8_t info[128];
};
_Static_assert(offsetof(struct signal_frame, r8) == 48, "struct sigcontext follows the stack");
_Static_assert(offsetof(struct signal_frame, sigmask) == 48 + 256, "struct sigcontext");

static const uint8_t syscall_bytes[] = { 0x0f, 0x05, 0xc3 };
/* mov $15,%rax; syscall */
static const uint8_t sigreturn_bytes[] = { 0x48, 0xc7, 0xc0, 15, 0, 0, 0, 0x0f, 0x05 };
const struct code_pattern thread_syscall_code = { syscall_bytes, sizeof(syscall_bytes), 1 };
const struct code_pattern thread_sigreturn_code = { sigreturn_bytes, sizeof(sigreturn_bytes), 1 };

bool thread_syscall_is_fragile(long nr, const uint64_t args[6])
{
	switch (nr) {
	case SYS_epoll_wait:
	case SYS_epoll_pwait:
		return (int32_t)args[3] >= 0; /* without a time it can be restarted */
	case SYS_epoll_pwait2:
		return args[3] != 0;
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

static bool is_endless_epoll(const struct user_regs_struct *r)
{
	switch (r->orig_rax) {
	case SYS_epoll_wait:
	case SYS_epoll_pwait:
		return (int32_t)r->r10 < 0;
	case SYS_epoll_pwait2:
		return r->r10 == 0;
	default:
		return false;
	}
}

/* arch/x86/kernel/signal.c, arch_do_signal_or_restart(): what the kernel would do after the stop. */
static void settle_syscall(struct thread_state *st)
{
	struct user_regs_struct *r = &st->regs;

	st->place = (int64_t)r->orig_rax < 0 ? THREAD_IN_USER_CODE : THREAD_IN_SYSCALL;
	if (st->place == THREAD_IN_USER_CODE)
		return;
	st->syscall_nr = (long)r->orig_rax;
	st->syscall_arg = r->rdi;
	if ((int64_t)r->rax == -EINTR && is_endless_epoll(r)) {
		r->rax = (uint64_t)KERNEL_RESTARTNOHAND;
		st->must_restart = true;
	}
	/* It waits until a point in time (the GIL's waiters do): executed again, it waits as long. */
	if ((int64_t)r->rax == KERNEL_RESTART_RESTARTBLOCK && r->orig_rax == SYS_futex &&
	    (r->rsi & FUTEX_CMD_MASK) == FUTEX_WAIT_BITSET)
		r->rax = (uint64_t)KERNEL_RESTARTSYS;
	switch ((int64_t)r->rax) {
	case KERNEL_RESTART_RESTARTBLOCK:
		st->place = THREAD_IN_TIMED_SYSCALL;
		break;
	case KERNEL_RESTARTSYS:
	case KERNEL_RESTARTNOINTR:
	case KERNEL_RESTARTNOHAND:
		r->rax = r->orig_rax;
		r->rip -= SYSCALL_INSN_BYTES;
		break;
	default:
		break;
	}
	r->orig_rax = NOT_A_SYSCALL;
}

static int read_fp(pid_t tid, struct thread_state *st)
{
	struct iovec v = { st->fp, sizeof(st->fp) };

	if (ptrace(PTRACE_GETREGSET, tid, NT_X86_XSTATE, &v) < 0)
		return -errno;
	if (v.iov_len < XSTATE_MIN_BYTES || v.iov_len >= sizeof(st->fp))
		return -EOPNOTSUPP;
	st->fp_bytes = v.iov_len;
	return 0;
}

int thread_state_read(pid_t tid, struct thread_state *ret_state)
{
	struct thread_state *st = ret_state;
	struct iovec v = { &st->regs, sizeof(st->regs) };
	uint64_t shadow;
	struct iovec shadow_v = { &shadow, sizeof(shadow) };

	st->obstacle = NULL;
	st->must_restart = false;
	if (ptrace(PTRACE_GETREGSET, tid, NT_PRSTATUS, &v) < 0)
		return -errno;
	if (v.iov_len != sizeof(st->regs) || st->regs.cs != 0x33) {
		st->obstacle = "it runs 32-bit code";
		return 0;
	}
	if (ptrace(PTRACE_GETSIGMASK, tid, sizeof(st->sigmask), &st->sigmask) < 0)
		return -errno;
	/* NT_X86_SHSTK is an error for a thread without a shadow stack */
	if (ptrace(PTRACE_GETREGSET, tid, 0x204, &shadow_v) == 0)
		st->obstacle = "it has a shadow stack";
	settle_syscall(st);
	st->pc = st->regs.rip;
	st->sp = st->regs.rsp;
	return read_fp(tid, st);
}

/* The size of the standard format with these features. */
static uint32_t xstate_bytes(uint64_t features)
{
	uint32_t end = XSTATE_MIN_BYTES;

	for (unsigned int i = 2; i < 63; i++) {
		uint32_t bytes, offset, ecx, edx;

		if (!(features >> i & 1) || !__get_cpuid_count(0xd, i, &bytes, &offset, &ecx, &edx))
			continue;
		if (offset + bytes > end)
			end = offset + bytes;
	}
	return end;
}

/* Turns ptrace's copy of the state into a signal frame's. Returns its size. */
static size_t frame_fp(const struct thread_state *st, uint8_t *to)
{
	struct xstate_sw sw = { .magic1 = XSTATE_MAGIC1 };
	uint32_t magic2 = XSTATE_MAGIC2;
	uint64_t used;

	memcpy(&sw.features, st->fp + XSTATE_SW_OFFSET, sizeof(sw.features));
	memcpy(&used, st->fp + XSTATE_HEADER_OFFSET, sizeof(used));
	/* A thread that may not use AMX has a smaller state: the kernel takes no larger one. */
	if (!(used & XSTATE_TILE_DATA))
		sw.features &= ~XSTATE_TILE_DATA;
	sw.features &= ~XSTATE_SHADOW_STACK;
	sw.xstate_bytes = xstate_bytes(sw.features);
	if (sw.xstate_bytes > st->fp_bytes)
		sw.xstate_bytes = (uint32_t)st->fp_bytes;
	sw.extended_bytes = sw.xstate_bytes + (uint32_t)sizeof(magic2);
	memcpy(to, st->fp, sw.xstate_bytes);
	memcpy(to + XSTATE_SW_OFFSET, &sw, sizeof(sw));
	memcpy(to + sw.xstate_bytes, &magic2, sizeof(magic2));
	return sw.extended_bytes;
}

static struct signal_frame saved_state(const struct thread_state *st, uint64_t fp_addr,
				       uint64_t return_addr)
{
	const struct user_regs_struct *r = &st->regs;

	return (struct signal_frame){
		.return_addr = return_addr,
		.flags = FRAME_HAS_XSTATE | FRAME_HAS_SS | FRAME_STRICT_SS,
		.stack.flags = FRAME_KEEP_ALTSTACK,
		.r8 = r->r8,
		.r9 = r->r9,
		.r10 = r->r10,
		.r11 = r->r11,
		.r12 = r->r12,
		.r13 = r->r13,
		.r14 = r->r14,
		.r15 = r->r15,
		.di = r->rdi,
		.si = r->rsi,
		.bp = r->rbp,
		.bx = r->rbx,
		.dx = r->rdx,
		.ax = r->rax,
		.cx = r->rcx,
		.sp = r->rsp,
		.ip = r->rip,
		.eflags = r->eflags,
		.cs = (uint16_t)r->cs,
		.gs = (uint16_t)r->gs,
		.fs = (uint16_t)r->fs,
		.ss = (uint16_t)r->ss,
		.fp = fp_addr,
		.sigmask = st->sigmask,
	};
}

static void set_arguments(struct user_regs_struct *r, const struct thread_call *call)
{
	r->rip = call->function;
	r->rax = call->is_syscall ? (uint64_t)call->syscall_nr : 0;
	r->orig_rax = NOT_A_SYSCALL;
	r->eflags &= ~(FLAG_TRAP | FLAG_DIRECTION);
	r->rdi = call->args[0];
	r->rsi = call->args[1];
	r->rdx = call->args[2];
	r->rcx = call->args[3];
	r->r10 = call->args[3];
	r->r8 = call->args[4];
	r->r9 = call->args[5];
}

void thread_state_frame(const struct thread_state *st, const struct thread_call *call,
			struct thread_frame *ret_frame)
{
	struct thread_frame *f = ret_frame;
	uint8_t fp[THREAD_STATE_FP_BYTES + 8] = { 0 };
	size_t fp_bytes = (frame_fp(st, fp) + 7) & ~(size_t)7;
	uint64_t fp_addr = (st->sp - RED_ZONE_BYTES - fp_bytes) & ~63ull;
	struct signal_frame s = saved_state(st, fp_addr, call->sigreturn);

	/* as at the first instruction of a function: 8 bytes beyond a multiple of 16 */
	f->addr = ((fp_addr - sizeof(s)) & ~15ull) - 8;
	f->nr_bytes = fp_addr + fp_bytes - f->addr;
	memset(f->bytes, 0, f->nr_bytes);
	memcpy(f->bytes, &s, sizeof(s));
	memcpy(f->bytes + (fp_addr - f->addr), fp, fp_bytes);
	f->regs = st->regs;
	f->regs.rsp = f->addr;
	set_arguments(&f->regs, call);
}

int thread_state_set_regs(pid_t tid, const struct user_regs_struct *regs)
{
	struct iovec v = { (void *)(uintptr_t)regs, sizeof(*regs) };

	return ptrace(PTRACE_SETREGSET, tid, NT_PRSTATUS, &v) < 0 ? -errno : 0;
}

int thread_state_abandon(pid_t tid, const struct thread_frame *frame, uint64_t sigreturn)
{
	struct user_regs_struct r = frame->regs;

	r.rip = sigreturn;
	r.rsp = frame->addr + 8; /* as after the return */
	return thread_state_set_regs(tid, &r);
}
#else
typedef int thread_x86_is_elsewhere;
#endif
