#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# bpf_cost.sh PERF_AGENT RATE_HZ COMMAND…: what a sample costs in the kernel while COMMAND runs, by the
# kernel's own count (kernel.bpf_stats_enabled): runs of the sampling program, µs per run, and frames per
# sample. Idle and other tasks' ticks are runs too; they cost next to nothing. Needs root and bpftool.
set -eu
agent=$1 rate=$2
shift 2
out=$(mktemp -d)
trap 'rm -rf "$out"; sysctl -qw kernel.bpf_stats_enabled="$before"' EXIT
before=$(sysctl -n kernel.bpf_stats_enabled)
sysctl -qw kernel.bpf_stats_enabled=1
"$agent" --profile -q -F "$rate" -o "$out/p.pb.gz" --json="$out/s.json" -- "$@" >/dev/null 2>&1 &
pid=$!
sleep 1
while kill -0 "$pid" 2>/dev/null; do
	bpftool -j prog show name pa_oncpu 2>/dev/null >"$out/now.json" || true
	[ ! -s "$out/now.json" ] || mv "$out/now.json" "$out/last.json"
	sleep 0.2
done
jq -r --slurpfile s "$out/s.json" '(if type == "array" then .[0] else . end) |
	"runs \(.run_cnt), \((.run_time_ns / .run_cnt / 10 | floor) / 100) us per run; samples \($s[0].samples), complete \($s[0].stacks_complete)"' \
	"$out/last.json"
