# SPDX-License-Identifier: Apache-2.0
"""Test Anything Protocol for tests that are scripts; see tests/tap.h."""
import sys

_nr = 0
_failed = 0


def ok(passed, what):
    """Prints one check; passes its outcome on."""
    global _nr, _failed
    _nr += 1
    _failed += not passed
    print(f"{'ok' if passed else 'not ok'} {_nr} - {what}", flush=True)
    return passed


def skip(why):
    global _nr
    _nr += 1
    print(f"ok {_nr} # SKIP {why}", flush=True)


def done():
    print(f"1..{_nr}")
    sys.exit(1 if _failed else 0)
