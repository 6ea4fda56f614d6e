#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""folded.py PID [SECONDS]: folded stacks of a process, taken by libperfagent through ctypes."""
import ctypes
import os
import sys

# A function that gets the bytes of an output.
WRITE = ctypes.CFUNCTYPE(ctypes.c_ssize_t, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)


class Error(ctypes.Structure):
    _fields_ = [("code", ctypes.c_int), ("text", ctypes.c_char * 512), ("field", ctypes.c_char * 40)]


class Output(ctypes.Structure):
    _fields_ = [("sz", ctypes.c_size_t), ("format", ctypes.c_char_p), ("path", ctypes.c_char_p),
                ("kind", ctypes.c_char_p), ("write", WRITE), ("write_ctx", ctypes.c_void_p),
                ("use_fd", ctypes.c_bool), ("fd", ctypes.c_int)]


class Options(ctypes.Structure):
    """The first members of struct pa_options: sz says how many there are, and the library takes the rest as zero."""
    _fields_ = [("sz", ctypes.c_size_t), ("pids", ctypes.POINTER(ctypes.c_int)), ("nr_pids", ctypes.c_size_t),
                ("all", ctypes.c_bool), ("no_follow_children", ctypes.c_bool), ("start_on_exec", ctypes.c_bool),
                ("event", ctypes.c_int), ("sample_rate_hz", ctypes.c_uint), ("kernel_stacks", ctypes.c_bool),
                ("duration_ns", ctypes.c_uint64), ("outputs", ctypes.POINTER(Output)), ("nr_outputs", ctypes.c_size_t)]


def check(result, err):
    if result < 0:
        sys.exit(f"folded.py: {err.text.decode()}")


def folded_stacks(pid, seconds):
    lib = ctypes.CDLL(os.environ.get("LIBPERFAGENT", "libperfagent.so.0"))
    lib.pa_session_new.argtypes = [ctypes.POINTER(Options), ctypes.POINTER(ctypes.c_void_p), ctypes.POINTER(Error)]
    lib.pa_session_start.argtypes = [ctypes.c_void_p, ctypes.POINTER(Error)]
    lib.pa_session_wait.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.POINTER(Error)]
    lib.pa_session_free.argtypes = [ctypes.c_void_p]
    pieces, err, session = [], Error(), ctypes.c_void_p()

    @WRITE
    def write(_, data, size):
        pieces.append(ctypes.string_at(data, size))
        return size

    output = Output(ctypes.sizeof(Output), b"folded", None, b"on-cpu", write)
    options = Options(ctypes.sizeof(Options), (ctypes.c_int * 1)(pid), 1, duration_ns=int(seconds * 1e9),
                      outputs=ctypes.pointer(output), nr_outputs=1)
    check(lib.pa_session_new(options, session, err), err)
    try:
        check(lib.pa_session_start(session, err), err)
        check(lib.pa_session_wait(session, -1, err), err)
    finally:
        lib.pa_session_free(session)
    return b"".join(pieces).decode()


if __name__ == "__main__":
    print(folded_stacks(int(sys.argv[1]), float(sys.argv[2] if len(sys.argv) > 2 else 10)), end="")
