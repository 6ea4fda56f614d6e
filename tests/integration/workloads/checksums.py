# SPDX-License-Identifier: Apache-2.0
"""checksums.py: threads that compute with floats while signals arrive, until standard input ends. Prints a line when it
runs; and at the end, as JSON, which results its rounds had (one, if nobody disturbs them), and which answers it got
when it asked whether its perf trampoline was on."""
import faulthandler
import json
import math
import signal
import struct
import sys
import threading
import zlib

faulthandler.enable()  # a handler of SIGSEGV, on an alternate stack
nr_signals = 0
results, answers = set(), []
over = threading.Event()


def count_signal(nr, frame):
    global nr_signals
    nr_signals += 1


def switch_off(nr, frame):
    sys.deactivate_stack_trampoline()


def inner(x, i):
    return math.sin(x) * 1.0000001 + math.sqrt(abs(x) + i) / (x * x + 1.0)


def compute():
    x, crc = 0.1, 0
    for i in range(400):
        x = inner(x, i)
        crc = zlib.crc32(struct.pack("<d", x), crc)
    return crc


def note_answer():
    answer = sys.is_stack_trampoline_active() if hasattr(sys, "is_stack_trampoline_active") else None
    if not answers or answers[-1] is not answer:
        answers.append(answer)


def work():
    while not over.is_set():
        results.add(compute())
        note_answer()


def wait_for_end():
    sys.stdin.read()
    over.set()


if __name__ == "__main__":
    signal.signal(signal.SIGALRM, count_signal)
    signal.signal(signal.SIGUSR1, switch_off)
    signal.setitimer(signal.ITIMER_REAL, 0.005, 0.005)
    threads = [threading.Thread(target=f) for f in (work, work, wait_for_end)]
    for t in threads:
        t.start()
    print("runs", flush=True)
    work()
    for t in threads:
        t.join()
    note_answer()
    signal.setitimer(signal.ITIMER_REAL, 0)
    print(json.dumps({"results": sorted(results), "answers": answers, "signals": nr_signals}))
