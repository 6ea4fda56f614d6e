# SPDX-License-Identifier: Apache-2.0
"""Keeps an interpreter busy for some seconds of its own CPU time: main → drive → work."""
import sys
import time


def work(n):
    total = 0
    for i in range(n):
        total += i % 7
    return total


def drive():
    return sum([work(5000), work(5000)])


def main():
    while time.process_time() < float(sys.argv[1]):
        drive()


main()
