#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""make_old_header.py HEADER OUT: the public header as if each structure in a list had its last member not yet."""
import re
import sys

text = open(sys.argv[1], encoding='utf-8').read()
text = re.sub(r'/\*.*?\*/', '', text, flags=re.DOTALL)  # one may go on in the next line
types = re.findall(r'\b(pa_\w+)_sz\b(?=[,;])', text)
for name in types:
    text, nr = re.subn(r'(struct %s \{.*?)\n[^\n;]*;[^\n]*\n\};' % name, r'\1\n};', text, count=1, flags=re.DOTALL)
    assert nr == 1, name
assert len(types) >= 9
with open(sys.argv[2], 'w', encoding='utf-8') as out:
    out.write(text)
