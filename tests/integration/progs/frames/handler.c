// SPDX-License-Identifier: Apache-2.0
/*
 * handler [SECONDS [ALT [STEPS]]]: every 3 ms a signal interrupts the program where it is, and its
 * handler burns CPU for STEPS (1000000, most of that time); on a stack of its own if ALT is not 0.
 * Truth: handler_burn, on_timer, the C library's signal return, then what was interrupted; or that
 * alone: victim_leaf, victim, main.
 */
#include "frames.h"

#include <sys/time.h>

#define PERIOD_US 3000
#ifndef STEPS_IN_HANDLER
#define STEPS_IN_HANDLER 1000000
#endif
#define ALT_BYTES (64 * 1024)

static volatile uint64_t handled;
static unsigned int steps_in_handler;

NOINLINE static uint64_t handler_burn(uint64_t x)
{
	return burn_steps(x, steps_in_handler);
}

static void on_timer(int sig)
{
	handled = handler_burn((uint64_t)sig) + 1;
}

/* Uses the red zone: its locals lie below the stack pointer. */
NOINLINE static uint64_t victim_leaf(uint64_t x)
{
	volatile uint64_t low[4] = { x, x, x, x };

	low[x % 4] = x + 1;
	return burn_steps(low[0], STEPS_SHORT) + low[3];
}

NOINLINE static uint64_t victim(uint64_t x)
{
	struct many m = many_from(x);

	x = victim_leaf(x);
	return x + many_sum(m);
}

#ifdef BARE_RETURN
#include <sys/syscall.h>
#include <unistd.h>

#define SA_RESTORER 0x04000000 /* arch/x86/include/uapi/asm/signal.h */

void bare_return(void);
__asm__(".text\n"
	".type bare_return, @function\n"
	"bare_return:\n"
	"	mov $15, %eax\n"
	"	syscall\n"
	".size bare_return, . - bare_return\n");

static int set_handler(int sig, const struct sigaction *sa)
{
	const struct {
		void (*handler)(int);
		unsigned long flags;
		void (*restorer)(void);
		unsigned long mask;
	} raw = { sa->sa_handler, (unsigned long)sa->sa_flags | SA_RESTORER, bare_return, 0 };

	return (int)syscall(SYS_rt_sigaction, sig, &raw, NULL, sizeof(raw.mask));
}
#else
static int set_handler(int sig, const struct sigaction *sa)
{
	return sigaction(sig, sa, NULL);
}
#endif

static int take_signals(int flags)
{
	static char room[ALT_BYTES];
	const stack_t stack = { .ss_sp = room, .ss_size = sizeof(room) };
	const struct sigaction sa = { .sa_handler = on_timer, .sa_flags = flags };
	const struct itimerval every = { { 0, PERIOD_US }, { 0, PERIOD_US } };

	if (flags & SA_ONSTACK && sigaltstack(&stack, NULL))
		return -1;
	if (set_handler(SIGPROF, &sa))
		return -1;
	return setitimer(ITIMER_PROF, &every, NULL);
}

int main(int argc, char **argv)
{
	uint64_t x = (uint64_t)argc;

	steps_in_handler = (unsigned int)arg_number(argc, argv, 3, STEPS_IN_HANDLER);
	prog_stop_after(arg_number(argc, argv, 1, 0));
	if (take_signals(arg_number(argc, argv, 2, 0) ? SA_ONSTACK | SA_RESTART : SA_RESTART)) {
		perror("handler");
		return 1;
	}
	prog_say_ready();
	while (!prog_stopped)
		x = victim(x);
	return x == 0;
}
