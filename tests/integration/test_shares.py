# SPDX-License-Identifier: Apache-2.0
"""The demo's workload has known shares; the profile must show them, and pprof must read it."""
import re

from go_pprof import has_pprof, pprof
from harness import adds_up, agent_until, done, end, need_root, note, ok, prog, skip, workdir

SHARES = {"price_basket": 0.50, "search_catalogue": 0.30, "render_page": 0.15,
          "write_audit_log": 0.05}
SIGMAS = 4
MIN_SAMPLES = 5000


def within(share, n, seen):
    sigma = (share * (1 - share) / n) ** 0.5
    return abs(seen - share) <= SIGMAS * sigma


need_root()
tmp = workdir()
shop = prog("demo_workload", 300, 2)
run = agent_until(MIN_SAMPLES, tmp, "--pid", shop.pid, "-F", 1999, "--tag", "service=shop", "--tag", "v=1",
                  seconds=4)
end(shop)
p, n = run.profile, run.profile.total()
ok(run.status == 0, "the run ends well")
ok(n >= MIN_SAMPLES, f"{n} samples are at least {MIN_SAMPLES}")
for name, share in SHARES.items():
    seen = sum(s.count for s in p.samples if f"shop::{name}(" in s.frames[0].name) / n
    ok(within(share, n, seen), f"{name}: {share:.2f} is reported as {seen:.4f}, within {SIGMAS} sigma")
ok(adds_up(run.summary) and run.summary["samples"] == n, "the ticks add up")
ok(p.sample_types == [("samples", "count"), ("cpu", "nanoseconds")], "two sample types in order")
ok(p.default_sample_type == "cpu", "the default one is cpu")
ok(p.period == 1000000000 // 1999 and p.period_type == [("cpu", "nanoseconds")], "the period")
ok(p.total(1) == n * p.period, "nanoseconds are samples times period")
ok(p.duration_nanos == run.summary["duration_ns"] >= 4e9, "the duration")
ok(p.comments[:2] == ["service=shop", "v=1"], "tags are comments")
ok(all(m.build_id for m in p.mapping_list if p.str(m.filename).startswith("/")), "files have build-ids")
ok(all(f.mapping and f.mapping.memory_start <= f.address < f.mapping.memory_limit
       for s in p.samples for f in s.frames if f.path.startswith("/")), "addresses lie in their mappings")
ok(all(s.labels["pid"] == shop.pid and s.labels["comm"] == "demo_workload" for s in p.samples),
   "every sample has the labels pid and comm")
ok(len({s.labels["tid"] for s in p.samples}) >= 2, "samples of several threads have different tid labels")
if not has_pprof():
    skip("go tool pprof is not installed")
else:
    top = pprof("-top", run.profile_path)
    note(top)
    for name, share in SHARES.items():
        line = re.search(rf"([\d.]+)%\s+[\d.]+%\s+\S+\s+[\d.]+%\s+shop::{name}", top)
        ok(line and within(share, n, float(line[1]) / 100),
           f"go tool pprof -top shows {name}")
    raw = pprof("-raw", run.profile_path)
    ok(re.search(r"PeriodType: cpu nanoseconds", raw) and re.search(r"Duration: \d", raw)
       and re.search(r"samples/count cpu/nanoseconds\[dflt\]", raw), "-raw shows types, period, duration")
    ok(re.search(r"^\d+: 0x\w+/0x\w+/0x\w+ \S+demo_workload [0-9a-f]{40}", raw, re.M),
       "-raw shows the mapping with its build-id")
    ok("service=shop" in pprof("-comments", run.profile_path), "-comments shows the tags")
done()
