// SPDX-License-Identifier: Apache-2.0
/*
 * fake_python silent|begun: looks like CPython 3.12, and waits.
 *
 * silent: its stack is in memory whose missing pages nobody ever provides, so that whoever writes to them
 * waits for ever.
 * begun: a call that is queued says at once that it has begun, and never ends.
 */
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#define STACK_BYTES ((size_t)1 << 20)
#define TOUCHED_BYTES 8192u /* at the end of it */
#define NEAR_BYTES 1024u    /* from where the stack begins to the missing pages */

#define EXPORTED __attribute__((visibility("default"), used))

EXPORTED const unsigned long Py_Version = 0x030c00f0;
/* initialized, and not finalizing */
EXPORTED struct {
	int before[4];
	int initialized, pad;
	long finalizing;
} _PyRuntime = { .initialized = 1 };

#define EMPTY(name)                                                                                \
	EXPORTED void name(void);                                                                  \
	void name(void)                                                                            \
	{                                                                                          \
	}
EMPTY(Py_AddPendingCall)
EMPTY(PyInterpreterState_Main)
EMPTY(PySys_GetObject)
EMPTY(PyObject_CallFunction)
EMPTY(PyObject_IsTrue)
EMPTY(Py_DecRef)
EMPTY(PyErr_Clear)
EMPTY(_PyEval_EvalFrameDefault)
EMPTY(_Py_trampoline_func_start)

/* page: struct inject_page, with is_started in its second place. */
EXPORTED int _PyEval_AddPendingCall(void *interpreter, void *fn, uint32_t *page, int flags);
int _PyEval_AddPendingCall(void *interpreter, void *fn, uint32_t *page, int flags)
{
	(void)interpreter;
	(void)fn;
	(void)flags;
	page[1] = 1;
	return 0;
}

static uint8_t *stack;
static ucontext_t before, on_stack;

static void wait_on_stack(void)
{
	for (;;)
		pause();
}

static int leave_missing(void)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register missing = { .range = { (uintptr_t)stack, STACK_BYTES },
					   .mode = UFFDIO_REGISTER_MODE_MISSING };
	int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);

	return fd < 0 || ioctl(fd, UFFDIO_API, &api) < 0 ||
	       ioctl(fd, UFFDIO_REGISTER, &missing) < 0;
}

static int wait_silently(void)
{
	stack = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (stack == MAP_FAILED)
		return 1;
	(void)madvise(stack, STACK_BYTES, MADV_NOHUGEPAGE);
	memset(stack + STACK_BYTES - TOUCHED_BYTES, 1, TOUCHED_BYTES);
	if (leave_missing() || getcontext(&on_stack) < 0)
		return 2;
	on_stack.uc_stack =
		(stack_t){ .ss_sp = stack, .ss_size = STACK_BYTES - TOUCHED_BYTES + NEAR_BYTES };
	on_stack.uc_link = &before;
	makecontext(&on_stack, wait_on_stack, 0);
	printf("runs\n");
	fflush(stdout);
	(void)swapcontext(&before, &on_stack);
	return 3;
}

int main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], "silent"))
		return wait_silently();
	printf("runs\n");
	fflush(stdout);
	for (;;)
		pause();
}
