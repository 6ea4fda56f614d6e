# SPDX-License-Identifier: Apache-2.0
"""interplay.py: Python functions that call C functions that call Python functions, and the kernel, until standard input
ends. Prints a line when it runs; and at the end, as JSON, what it saw when it asked whether its perf trampoline was on."""
import json
import os
import select
import sys

answers = []


def weigh(x):
    return (x * 7919) % 1009


def sort_by_weight():
    return sorted(range(400), key=weigh)


def read_zeros(fd):
    return len(os.read(fd, 1 << 18))


def one_round(fd):
    sort_by_weight()
    read_zeros(fd)
    answer = sys.is_stack_trampoline_active()
    if not answers or answers[-1] is not answer:
        answers.append(answer)


def main():
    fd = os.open("/dev/zero", os.O_RDONLY)
    print("runs", flush=True)
    while not select.select([0], [], [], 0)[0]:
        one_round(fd)
    print(json.dumps(answers))


if __name__ == "__main__":
    main()
