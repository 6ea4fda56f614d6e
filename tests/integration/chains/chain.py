# SPDX-License-Identifier: Apache-2.0
"""main → alpha → beta → work → spin, for ever."""


def spin(n):
    for i in range(20000):
        n = (n * 31 + i) & 0xFFFFFF
    return n


def work(n):
    return spin(n) + 1


def beta(n):
    return work(n) + 2


def alpha(n):
    return beta(n) + 3


def main():
    n = 1
    while True:
        n = alpha(n)


main()
