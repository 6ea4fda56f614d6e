/* SPDX-License-Identifier: Apache-2.0 */
/* The symbols by which CPython 3.12 is recognized. */
#ifndef PROGS_FAKE_PYTHON_H
#define PROGS_FAKE_PYTHON_H

#define EXPORTED __attribute__((visibility("default"), used))

/* What is read of the interpreter's state: initialized, and not finalizing. */
struct fake_runtime {
	int before[4];
	int initialized, padding;
	unsigned long finalizing, after[8];
};
#define FAKE_RUNTIME EXPORTED struct fake_runtime

EXPORTED unsigned long Py_Version = 0x030c00f0;

#define FUNCTION(name)                                                                             \
	EXPORTED void name(void);                                                                  \
	void name(void)                                                                            \
	{                                                                                          \
	}
FUNCTION(Py_AddPendingCall)
#ifndef FAKE_QUEUE /* a function of the program's own */
FUNCTION(_PyEval_AddPendingCall)
#endif
FUNCTION(PyInterpreterState_Main)
FUNCTION(PySys_GetObject)
FUNCTION(PyObject_CallFunction)
FUNCTION(PyObject_IsTrue)
FUNCTION(Py_DecRef)
FUNCTION(PyErr_Clear)
FUNCTION(_PyEval_EvalFrameDefault)
FUNCTION(_Py_trampoline_func_start)

#endif
