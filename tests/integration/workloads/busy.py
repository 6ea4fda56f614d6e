# SPDX-License-Identifier: Apache-2.0
"""Keeps an interpreter and its C libraries busy for some seconds of its own CPU time."""
import json
import re
import sys
import time


def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)


while time.process_time() < float(sys.argv[1]):
    fib(16)
    json.loads(json.dumps({str(i): [i] * 10 for i in range(200)}))
    re.sub(r"(a|b)+c", "x", "ababac" * 200)
    sorted(range(5000), key=lambda x: -x)
