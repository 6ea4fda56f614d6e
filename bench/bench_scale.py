#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""bench_scale.py PERF_AGENT PROGS_DIR [WHAT…]: what large targets cost the agent: `processes`, 500 that all
compute now and then; `mappings`, one with 20,000 and with 10,000 of them, to see that it is not
quadratic; `binary`, one of 1 GiB with 200,000 functions. Needs root, a C compiler, 2 GiB of disk.
"""
import json
import os
import subprocess
import sys
import tempfile
import time

AGENT, PROGS = map(os.path.abspath, sys.argv[1:3])
SECONDS = 5
NR_PROCESSES = 500
NR_FUNCTIONS = 200000
FUNCTION_BYTES = (1 << 30) // NR_FUNCTIONS

BIG = """
	.text
	.globl main
	.type main, @function
main:
	.cfi_startproc
	push %rbx
	.cfi_def_cfa_offset 16
	.cfi_offset %rbx, -16
	call last
	pop %rbx
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
	.size main, . - main
	.rept NR
	.cfi_startproc
	push %rbx
	.cfi_def_cfa_offset 16
	.cfi_offset %rbx, -16
	.skip BYTES
	pop %rbx
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
	.endr
	.type last, @function
last:
	.cfi_startproc
	sub $24, %rsp
	.cfi_def_cfa_offset 32
1:	jmp 1b
	.cfi_endproc
	.size last, . - last
	.section .note.GNU-stack, "", @progbits
"""


def report(tmp, what, *target):
    summary = os.path.join(tmp, "s.json")
    begin = time.monotonic()
    subprocess.run([AGENT, "--profile", "-q", "-d", f"{SECONDS}s", "-o", os.path.join(tmp, "p.pb.gz"),
                    f"--json={summary}", *target], stdout=subprocess.DEVNULL, check=True)
    took = time.monotonic() - begin
    with open(summary, encoding="utf-8") as f:
        s = json.load(f)
    n = s["samples"]
    print(f"{what}: {n} samples, {s['stacks_complete']} complete, {s['walks_finished']} finished outside; "
          f"{s['agent_sampling_cpu_ns'] / 1e6:.0f} ms of CPU time while sampling, {s['agent_cpu_ns'] / 1e6:.0f} in all, "
          f"{took:.1f} s, {s['agent_peak_rss_bytes'] >> 20} MiB; "
          f"{s['nr_tables']} tables, {s['tables_peak_bytes'] >> 10} KiB, {s['tables_refused']} refused", flush=True)


def end(processes):
    for p in processes:
        p.kill()
        p.wait()


def many_processes(tmp):
    nap = "while :; do i=0; while [ $i -lt 500 ]; do i=$((i + 1)); done; sleep 5; done"
    processes = [subprocess.Popen(["sh", "-c", nap]) for _ in range(NR_PROCESSES)]
    try:
        report(tmp, f"{NR_PROCESSES} processes", "-a")
    finally:
        end(processes)


def many_mappings(tmp):
    for nr in (10000, 20000):
        p = subprocess.Popen([os.path.join(PROGS, "many_maps"), str(nr), "600"], stdout=subprocess.PIPE)
        try:
            if p.stdout.readline() != b"ready\n":
                sys.exit("many_maps failed")
            report(tmp, f"{nr} mappings", "--pid", str(p.pid))
        finally:
            end([p])


def big_binary(tmp):
    source, binary = os.path.join(tmp, "big.S"), os.path.join(tmp, "big")
    with open(source, "w", encoding="utf-8") as f:
        f.write(BIG.replace("NR", str(NR_FUNCTIONS), 1).replace("BYTES", str(FUNCTION_BYTES - 3)))
    subprocess.run(["cc", source, "-o", binary], check=True)
    p = subprocess.Popen([binary])
    try:
        report(tmp, f"a binary of {os.path.getsize(binary) >> 20} MiB", "--pid", str(p.pid))
    finally:
        end([p])


ALL = {"processes": many_processes, "mappings": many_mappings, "binary": big_binary}
with tempfile.TemporaryDirectory() as tmp:
    for what in sys.argv[3:] or ALL:
        ALL[what](tmp)
