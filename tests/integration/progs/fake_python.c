// SPDX-License-Identifier: Apache-2.0
/*
 * fake_python silent SCRIPT|begun: looks like CPython 3.12, and waits.
 *
 * silent: one of its threads executes SCRIPT, whose interpreter, /mnt/f, is in a file system that never
 * answers. Meanwhile whoever wants to trace another of its threads waits for ever. Needs root, who may mount.
 * begun: a call that is queued says at once that it has begun, and never ends.
 */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

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

static void *execute(void *path)
{
	char *const argv[] = { path, NULL };

	(void)execv(path, argv);
	return NULL;
}

static int mount_silent(void)
{
	char options[64];
	int fd = open("/dev/fuse", O_RDWR);

	if (fd < 0 || unshare(CLONE_NEWNS) < 0 ||
	    mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return -1;
	(void)snprintf(options, sizeof(options), "fd=%d,rootmode=40000,user_id=0,group_id=0", fd);
	return mount("silent", "/mnt", "fuse", 0, options);
}

int main(int argc, char **argv)
{
	pthread_t thread;

	if (argc == 3 && !strcmp(argv[1], "silent")) {
		if (mount_silent() < 0 || pthread_create(&thread, NULL, execute, argv[2]))
			return 1;
		usleep(300000);
	}
	printf("runs\n");
	fflush(stdout);
	for (;;)
		pause();
}
