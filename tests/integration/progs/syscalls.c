// SPDX-License-Identifier: Apache-2.0
/*
 * syscalls [SECONDS]: more than 90 % of the time in the kernel, by system calls made without libc.
 *
 * Truth: two threads, two user stacks.
 *   main → level_a → level_b → level_c → alternate_loop: ONE syscall instruction, issued in turn as
 *     read(/dev/zero) and as getrandom(): one user stack with two kernel paths above it.
 *   thread_main → worker_a → worker_b → zero_loop: pread64(/dev/zero) of another length.
 * (thread_main has libc's thread start and clone below it.) Prints the share of system time.
 */
#include "prog.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#define READ_BYTES (1024 * 1024)
#define RANDOM_BYTES (64 * 1024)
#define PREAD_BYTES (256 * 1024)

struct call {
	long nr;
	long args[4];
};

/* Inlined: where it is used, there stands the one syscall instruction. */
#if defined(__x86_64__)
INLINE long issue(const struct call *c)
{
	register long r10 __asm__("r10") = c->args[3];
	long ret;

	__asm__ volatile("syscall"
			 : "=a"(ret)
			 : "a"(c->nr), "D"(c->args[0]), "S"(c->args[1]), "d"(c->args[2]), "r"(r10)
			 : "rcx", "r11", "memory");
	return ret;
}
#elif defined(__aarch64__)
INLINE long issue(const struct call *c)
{
	register long x8 __asm__("x8") = c->nr;
	register long x0 __asm__("x0") = c->args[0];
	register long x1 __asm__("x1") = c->args[1];
	register long x2 __asm__("x2") = c->args[2];
	register long x3 __asm__("x3") = c->args[3];

	__asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3) : "memory");
	return x0;
}
#else
#error "no system call instruction known for this architecture"
#endif

static char main_buffer[READ_BYTES], thread_buffer[PREAD_BYTES];

NOINLINE static long alternate_loop(int fd)
{
	const struct call calls[2] = {
		{ SYS_read, { fd, (long)main_buffer, READ_BYTES } },
		{ SYS_getrandom, { (long)main_buffer, RANDOM_BYTES } },
	};
	unsigned int turn = 0;
	long nr_bytes = 0;

	KEEP_FRAME();
	while (!prog_stopped)
		nr_bytes += issue(&calls[turn++ & 1]);
	return nr_bytes;
}

NOINLINE static long level_c(int fd)
{
	return alternate_loop(fd) + 1;
}

NOINLINE static long level_b(int fd)
{
	return level_c(fd) + 1;
}

NOINLINE static long level_a(int fd)
{
	return level_b(fd) + 1;
}

NOINLINE static long zero_loop(int fd)
{
	const struct call pread_zero = { SYS_pread64, { fd, (long)thread_buffer, PREAD_BYTES } };
	long nr_bytes = 0;

	KEEP_FRAME();
	while (!prog_stopped)
		nr_bytes += issue(&pread_zero);
	return nr_bytes;
}

NOINLINE static long worker_b(int fd)
{
	return zero_loop(fd) + 1;
}

NOINLINE static long worker_a(int fd)
{
	return worker_b(fd) + 1;
}

static void *thread_main(void *fd)
{
	return (void *)worker_a(*(int *)fd);
}

static void print_system_share(void)
{
	struct rusage ru;
	double user, system;

	getrusage(RUSAGE_SELF, &ru);
	user = (double)ru.ru_utime.tv_sec + (double)ru.ru_utime.tv_usec * 1e-6;
	system = (double)ru.ru_stime.tv_sec + (double)ru.ru_stime.tv_usec * 1e-6;
	printf("system %.1f %%\n", 100.0 * system / (user + system));
}

int main(int argc, char **argv)
{
	int fd = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	pthread_t thread;

	prog_stop_after(arg_number(argc, argv, 1, 0));
	if (fd < 0 || pthread_create(&thread, NULL, thread_main, &fd)) {
		fputs("syscalls: cannot open /dev/zero or start a thread\n", stderr);
		return 1;
	}
	prog_say_ready();
	if (level_a(fd) <= 0)
		return 1;
	pthread_join(thread, NULL);
	print_system_share();
	return 0;
}
