# SPDX-License-Identifier: Apache-2.0
"""A handler that spends most of its time in slow_parse() and count_words()."""
import re
import sys
import time


def slow_parse(text):
    return [re.sub(r"[^a-z]+", " ", line.lower()).split() for line in text.splitlines()]


def count_words(lines):
    counts = {}
    for words in lines:
        for word in words:
            counts[word] = counts.get(word, 0) + 1
    return counts


def handle(text):
    return count_words(slow_parse(text))


def main():
    text = "\n".join(f"The {i}th Line of a text, with Words & numbers {i * 7}" for i in range(2000))
    end = time.monotonic() + float(sys.argv[1])
    while time.monotonic() < end:
        handle(text)


main()
