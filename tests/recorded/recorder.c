// SPDX-License-Identifier: Apache-2.0
/*
 * A library to be preloaded: at each SIGUSR2 the thread that takes it writes a recording of itself
 * into the folder $RECORD_DIR, and goes on. This works under an emulator, too, where nobody can
 * look in from outside. What the handler needs of the stack lies below what is recorded.
 */
#include "recording.h"

#include <elf.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

static char dir[2048];
static char maps[256 << 10];
static atomic_uint nr;

#if defined(__x86_64__)

static void take_registers(const ucontext_t *uc, struct recording *r)
{
	static const int order[] = { REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI,
				     REG_RBP, REG_RSP, REG_R8,  REG_R9,  REG_R10, REG_R11,
				     REG_R12, REG_R13, REG_R14, REG_R15 };

	r->machine = EM_X86_64;
	for (int i = 0; i < 16; i++)
		r->regs[i] = (uint64_t)uc->uc_mcontext.gregs[order[i]];
	r->pc = (uint64_t)uc->uc_mcontext.gregs[REG_RIP];
}

#define SP 7

#elif defined(__aarch64__)

static void take_registers(const ucontext_t *uc, struct recording *r)
{
	r->machine = EM_AARCH64;
	for (int i = 0; i < 31; i++)
		r->regs[i] = uc->uc_mcontext.regs[i];
	r->regs[31] = uc->uc_mcontext.sp;
	r->pc = uc->uc_mcontext.pc;
}

#define SP 31

/*
 * The emulator has no vDSO to return from a handler through. This is the kernel's trampoline, with
 * the frame information that it has there (arch/arm64/kernel/vdso/sigreturn.S): handlers return to
 * it when the program's sigaction() is ours.
 */
__asm__(".text\n"
	".globl recorder_return\n"
	".hidden recorder_return\n"
	".type recorder_return, %function\n"
	"	.cfi_startproc\n"
	"	.cfi_signal_frame\n"
	"	.cfi_def_cfa x29, 0\n"
	"	.cfi_offset x29, 0\n"
	"	.cfi_offset x30, 8\n"
	"	nop\n"
	"recorder_return:\n"
	"	mov x8, #139\n"
	"	svc #0\n"
	"	.cfi_endproc\n"
	".size recorder_return, . - recorder_return\n");
void recorder_return(void);

#define KERNEL_RESTORER 0x04000000

int sigaction(int sig, const struct sigaction *new, struct sigaction *old)
{
	struct {
		void *handler;
		unsigned long flags;
		void (*restorer)(void);
		unsigned long mask;
	} k = { 0 };

	(void)old; /* nobody asks here */
	memcpy(&k.handler, &new->sa_handler, sizeof(k.handler));
	k.flags = (unsigned long)new->sa_flags | KERNEL_RESTORER;
	k.restorer = recorder_return;
	memcpy(&k.mask, &new->sa_mask, sizeof(k.mask));
	return (int)syscall(SYS_rt_sigaction, sig, &k, NULL, sizeof(k.mask));
}

#else
#error "no such architecture"
#endif

static size_t read_maps(void)
{
	int fd = open("/proc/self/maps", O_RDONLY);
	size_t n = 0;
	ssize_t r;

	while ((r = read(fd, maps + n, sizeof(maps) - 1 - n)) > 0)
		n += (size_t)r;
	close(fd);
	maps[n] = '\0';
	return n;
}

static void add_region(struct recording *r, uint64_t start, uint64_t end)
{
	if (end - start > RECORDING_MAX_STACK)
		end = start + RECORDING_MAX_STACK;
	r->regions[r->nr_regions].addr = start;
	r->regions[r->nr_regions++].bytes = end - start;
}

/* From the stack pointer up to the end of its mapping; the first stack as well if it is not that
 * one, since a handler may have a stack of its own. */
static void find_stacks(struct recording *r)
{
	uint64_t sp = r->regs[SP];

	for (char *line = maps; *line; line = strchr(line, '\n') + 1) {
		char *at;
		uint64_t start = strtoull(line, &at, 16), end = strtoull(at + 1, NULL, 16);
		const char *name = strstr(line, "[stack]");

		if (sp >= start && sp < end) {
			uint64_t from = sp - RECORDING_RED_ZONE;

			add_region(r, from < start ? start : from, end);
		} else if (name && name < strchr(line, '\n')) {
			uint64_t most = end - start > RECORDING_MAX_STACK ? RECORDING_MAX_STACK
									  : end - start;

			add_region(r, end - most, end);
		}
	}
}

static void put(int fd, const void *bytes, size_t n)
{
	if (write(fd, bytes, n) != (ssize_t)n)
		_exit(111);
}

static void record(int sig, siginfo_t *info, void *context)
{
	struct recording r = { .magic = RECORDING_MAGIC };
	char path[4096], done[4000];
	size_t maps_bytes;
	int fd;

	(void)sig;
	(void)info;
	take_registers(context, &r);
	maps_bytes = read_maps();
	find_stacks(&r);
	snprintf(done, sizeof(done), "%s/%d.%u", dir, (int)getpid(), atomic_fetch_add(&nr, 1));
	snprintf(path, sizeof(path), "%s.part", done);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	put(fd, &r, sizeof(r));
	for (uint64_t i = 0; i < r.nr_regions; i++)
		put(fd, (const void *)(uintptr_t)r.regions[i].addr, r.regions[i].bytes);
	put(fd, maps, maps_bytes);
	close(fd);
	rename(path, done);
}

__attribute__((constructor)) static void begin(void)
{
	struct sigaction sa = { .sa_sigaction = record, .sa_flags = SA_SIGINFO | SA_RESTART };

	snprintf(dir, sizeof(dir), "%s", getenv("RECORD_DIR"));
	sigfillset(&sa.sa_mask);
	sigaction(SIGUSR2, &sa, NULL);
}
