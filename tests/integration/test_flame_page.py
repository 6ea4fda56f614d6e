# SPDX-License-Identifier: Apache-2.0
"""The flame graph page in a real browser: it renders, zooms, searches, sorts and filters, and no name becomes markup.
"""
import os
import re
import shutil
import subprocess

from browser import Browser, missing
from harness import AGENT, PROGS, done, note, ok, skip, wait_for, workdir

SCRIPT_NAME = "</script><script>window.hacked = 1</script><img src=x onerror=hacked()>"
NAMES = ("main", SCRIPT_NAME, "<!--<script>", "bad \ufffd bytes?and lines", "ksys_read", "hot", "py::run:/srv/app.py",
         "work", "inner", "x" * 65536)
# The names of the boxes that the graph has, and where each is drawn.
BOX = """
const { graph, tree } = flame, scale = graph.width / tree.total[graph.zoom], area = graph.canvas.getBoundingClientRect();
for (let box = 0; box < tree.size; box++)
    if (tree.nameOf(box) === arguments[0] && tree.total[box] > 0)
        return [area.x + (tree.x[box] - tree.x[graph.zoom] + tree.total[box] / 2) * scale,
                area.y + graph.yOf(tree.depth[box]) + 8, box];
return null;
"""
PIXEL = """
return [...flame.graph.context.getImageData(...arguments, 1, 1).data];
"""


def page(kind):
    path = os.path.join(tmp, f"{kind}.html")
    subprocess.run([os.path.join(PROGS, "write_flame_page"), kind, path], check=True, timeout=120)
    return path


def drawn():
    """Draws what is pending, and returns the number of boxes drawn."""
    return browser.run("flame.graph.draw(); return flame.graph.drawn")


def text(selector):
    return browser.run("return document.querySelector(arguments[0]).textContent", selector)


def rows():
    return browser.run("return flame.table.rows.map(row => row.name)")


def choose(selector, index):
    browser.run("const s = document.querySelector(arguments[0]); s.selectedIndex = arguments[1];"
                "s.dispatchEvent(new Event('change'))", selector, index)


def point(name, clicks=False):
    x, y, _ = browser.run(BOX, name)
    browser.move(x, y, clicks)


def total():
    return browser.run("return flame.tree.total[0]")


def is_quiet(what):
    said, asked = browser.console(), [url for url in browser.requests() if not url.startswith(("file:", "data:", "chrome"))]
    note("\n".join(said + asked))
    ok(not said and not asked, f"{what}: no error on the console, and no request")


def save_screenshot(name):
    path = os.path.join(tmp, f"{name}.png")
    browser.screenshot(path)
    keep = os.environ.get("FLAME_SCREENSHOTS")
    if keep:
        shutil.copy(path, keep)
    return os.path.getsize(path)


def test_rendering():
    browser.open(page("hostile"))
    browser.requests()
    ok(drawn() > 10, "the page draws its boxes")
    x, y, _ = browser.run(BOX, "main")
    area = browser.run("const r = flame.graph.canvas.getBoundingClientRect(); return [r.x, r.y]")
    color = browser.run(PIXEL, round(x - area[0]), round(y - area[1]) + 8)
    ok(color[3] == 255 and color[0] > color[2], f"a box of the program is filled in a warm color: {color}")
    x, y, _ = browser.run(BOX, "ksys_read")
    color = browser.run(PIXEL, round(x - area[0]), round(y - area[1]) + 8)
    ok(color[2] > color[0], f"a box of the kernel in a cold one: {color}")
    ok(total() == 1e9, "values are those of the default type: 100 samples of 10 ms")
    ok(save_screenshot("hostile") > 10000, "a screenshot is written")


def test_hostile_names():
    names = browser.run("return flame.data.functions.map(f => f.name)")
    ok(sorted(names) == sorted(NAMES), "names that look like markup, and one of 64 KB, are intact")
    ok(not browser.run("return 'hacked' in window"), "no name ran as a script")
    ok(browser.run("return document.querySelectorAll('img, u, header i, nav i, main i, main b').length") == 0,
       "no name became an element")
    shown = browser.run("return [...document.querySelectorAll('.row .name')].map(e => e.textContent)")
    ok(SCRIPT_NAME in shown, "the table shows the name as it is")
    ok(text("#title") == "<title>a & b</title>", "the heading shows the title of the page as it is")
    browser.run("const e = document.createElement('div'); document.body.append(e);"
                "e.innerHTML = '<img src=x onerror=\"window.hacked = 1\">';"
                "const s = document.createElement('script'); s.textContent = 'window.hacked = 1'; document.body.append(s);"
                "e.remove(); s.remove()")
    ok(not browser.run("return 'hacked' in window"), "the policy of the page runs no script but its own")
    browser.console()
    browser.requests()


def test_tip():
    point("inner")
    wait_for(lambda: not browser.run("return document.getElementById('tip').hidden"), "the tip")
    tip = text("#tip")
    ok("/src/app.c:12" in tip and "inlined" in tip and "250 ms" in tip and "25.0 %" in tip,
       "the tip has file and line, value and share, and says that a call was inlined")
    point("no <unwind> rule")
    wait_for(lambda: "truncated" in text("#tip"), "the tip of the reason")
    ok("truncated: no <unwind> rule" in text("#tip"), "truncated stacks are below a box with the reason")


def test_zoom():
    before = browser.run("return flame.graph.zoom")
    point("inner", clicks=True)
    after = browser.run("return [flame.graph.zoom, flame.tree.nameOf(flame.graph.zoom)]")
    ok(before == 0 and after[1] == "inner", "a click zooms to a box")
    ok("25.0 %" in text("#path") and "inner" in text("#path"), "the path above the graph shows where, and its share")
    browser.press("Backspace")
    ok(browser.run("return flame.tree.nameOf(flame.graph.zoom)") == "work", "Backspace zooms out by one box")
    browser.press("Escape")
    ok(browser.run("return flame.graph.zoom") == 0, "Escape zooms out to all")


def test_keyboard():
    for key in ("Up", "Up", "Up"):
        browser.press(key)
    ok(browser.run("return flame.tree.depth[flame.graph.focus]") == 3, "arrows go from a box to its callees")
    focus = browser.run("return flame.graph.focus")
    browser.press("Right")
    ok(browser.run("return flame.graph.focus") != focus, "arrows go from a box to its neighbors")
    browser.press("Enter")
    ok(browser.run("return flame.graph.zoom === flame.graph.focus && flame.graph.zoom > 0"), "Enter zooms to it")
    ok("%" in text("#said"), "what has the focus is said to readers of the screen")
    browser.press("Escape")
    browser.press("i")
    y = [browser.run(BOX, name)[1] for name in ("main", "inner")]
    ok(y[1] > y[0], "i turns the flame graph into an icicle: callees lie below")
    browser.press("i")
    browser.press("d")
    ok(browser.run("return document.documentElement.dataset.theme") == "dark", "d switches to dark")
    drawn()
    save_screenshot("dark")
    browser.press("d")
    browser.press("t")
    ok(browser.run("return document.getElementById('table').offsetWidth") == 0, "t hides the table")
    browser.press("t")


def test_search():
    browser.press("/")
    ok(browser.run("return document.activeElement.id") == "search", "/ goes to the search")
    browser.type("#search", "SCRIPT>")
    ok(text("#matches") == "15.0 % in 2 functions",
       f"a search has the share of its matches, each sample counted once: {text('#matches')}")
    ok(sorted(rows()) == sorted(NAMES[1:3]), "the table lists the matches")
    browser.type("#search", "/^(hot|main)$/")
    ok(text("#matches") == "100.0 % in 2 functions", "a regular expression stands between slashes")
    browser.press("Escape")
    ok(text("#matches") == "" and len(rows()) == len(NAMES), "Escape ends the search")


def test_table():
    values = browser.run("return flame.table.rows.map(row => [row.name, row.self, row.total])")
    by_name = {name: (own, whole) for name, own, whole in values}
    ok([v[1] for v in values] == sorted((v[1] for v in values), reverse=True), "the table is sorted by self")
    ok(by_name["py::run:/srv/app.py"] == (1e8, 4e8), "a recursive function counts once in its total")
    browser.click("#table-head .total")
    wholes = browser.run("return flame.table.rows.map(row => row.total)")
    ok(wholes == sorted(wholes, reverse=True) and rows()[0] == "main", "a click on a heading sorts by it")
    browser.click("#table-head .name")
    ok(rows() == sorted(rows()), "functions are sorted by name")
    browser.click("#table-head .name")
    ok(rows() == sorted(rows(), reverse=True), "a second click turns the order around")
    browser.click("#table-head .self")


def test_filters():
    options = browser.run("return [...document.querySelectorAll('#process option')].map(o => o.textContent)")
    ok(options == ["all processes", "<i>one</i> (1) · 60.0 %", "two (2) · 40.0 %"],
       f"processes can be chosen, the largest first: {options}")
    choose("#process", 1)
    ok(total() == 6e8 and "hot" not in rows(), "a process alone is shown")
    choose("#thread", 2)
    ok(total() == 2e8 and "ksys_read" in rows() and "inner" not in rows(), "a thread alone is shown")
    choose("#process", 0)
    ok(total() == 1e9, "all are shown again")
    choose("#type", 0)
    ok(total() == 100, "the number of samples can be chosen instead of their time")
    choose("#group", 0)
    ok(browser.run(BOX, "two (2)") is None and browser.run(BOX, "main"), "boxes of processes can be left out")


def test_views():
    browser.click("#views button:nth-child(2)")
    states = browser.run("return [...document.querySelectorAll('#state option')].map(o => o.value)")
    ok(states == ["", "sleep", "disk"], "the off-CPU profile is a click away, and has states")
    choose("#state", 2)
    ok(total() == 2e8, "a state alone is shown")
    browser.press("v")
    ok(browser.run("return flame.view") == 0, "v goes to the next profile")


def test_difference():
    browser.open(page("diff"))
    drawn()
    deltas = browser.run("return Object.fromEntries(flame.table.rows.map(r => [r.name, Math.round(1000 * r.delta) / 10]))")
    ok(deltas == {"f3": 40.0, "f0": -13.3, "f1": -13.3, "f2": -13.3, "main": 0.0},
       f"a comparison has the difference of shares: {deltas}")
    ok(rows()[0] == "f3", "what changed most is first")
    colors = [browser.run("return flame.graph.colorOf(arguments[0])", browser.run(BOX, n)[2]) for n in ("f3", "f0")]
    ok(colors[0].startswith("hsl(8 ") and colors[1].startswith("hsl(214 "), f"what grew is red, what shrank blue: {colors}")
    save_screenshot("diff")
    is_quiet("a comparison")


def test_two_runs():
    browser.open(page("runs"))
    drawn()
    boxes = browser.run("const { tree } = flame;"
                        "return [...tree.total.keys()].slice(1).map(box => [tree.nameOf(box), tree.growth(box)])")
    ok(sorted(boxes) == [["[no symbol] libx.so", 0], ["f", 0], ["f", 0], ["main", 0], ["one", 0], ["two", 0]],
       f"processes of two runs are compared by name, whatever their PIDs: {boxes}")
    ok(sorted(rows()) == ["[no symbol] libx.so", "f", "f", "main"],
       "functions by name and module, whatever directory and address they have, and whether they were inlined")
    types = browser.run("return [...document.querySelectorAll('#type option')].map(o => o.textContent)")
    ok(types == ["number of samples", "cpu time"], f"only types that both runs have are offered: {types}")
    sums = [total(), browser.run("return flame.tree.baseTotal[0]")]
    choose("#type", 0)
    sums += [total(), browser.run("return flame.tree.baseTotal[0]")]
    ok(sums == [1e9, 1e9, 100, 100], f"both runs have the values of the chosen type, whatever its place: {sums}")
    is_quiet("two runs")


def test_large():
    path = page("large")
    size = os.path.getsize(path)
    ok(size < 16e6, f"50,000 stacks of 60 frames take less than 16 MB: {size / 1e6:.1f}")
    browser.open(path)
    boxes, width, depth = browser.run("return [flame.tree.size, flame.graph.width, flame.tree.maxDepth]")
    count = drawn()
    ok(boxes > 100000 and depth == 60, f"50,000 stacks are in the graph: {boxes} boxes")
    ok(count <= 2 * width * depth and count < boxes / 4, f"boxes too narrow to see are not drawn: {count} of {boxes}")
    save_screenshot("large")
    times = []
    for depth in (1, 5, 10, 20, 40):
        times.append(browser.run("""
            let box = 0;
            for (let i = 0; i < arguments[0]; i++)
                box = flame.tree.children[flame.tree.first[box]];
            flame.zoomTo(box);
            return flame.zoomMs""", depth))
        ok(flame_zoom() == depth, f"zooms to a box of depth {depth}")
    note("milliseconds per zoom: " + ", ".join(f"{t:.1f}" for t in times))
    costs = {depth: min(zoom_cpu_s(depth) for _ in range(3)) for depth in (1, 5, 20, 60)}
    ok(all(0 < cost < 0.1 for cost in costs.values()), "a zoom and its frame take less than 100 ms of CPU time: "
       + ", ".join(f"{1000 * cost:.1f} to depth {depth} and back" for depth, cost in costs.items()))
    is_quiet("50,000 stacks")


def zoom_cpu_s(depth):
    """CPU time of one zoom, from the root to a box of that depth or back, including the frame that shows it. On a busy
    machine wall time is meaningless."""
    before, nr = browser.cpu_s(), 6
    browser.run("""
        let box = 0;
        for (let i = 0; i < arguments[0]; i++)
            box = flame.tree.children[flame.tree.first[box]];
        return (async () => {
            for (let i = 0; i < arguments[1]; i++) {
                flame.zoomTo(i % 2 ? 0 : box);
                await new Promise(shown => requestAnimationFrame(() => requestAnimationFrame(shown)));
            }
        })()""", depth, nr)
    return (browser.cpu_s() - before) / nr


def flame_zoom():
    return browser.run("return flame.tree.depth[flame.graph.zoom]")


def test_capture():
    path, folded = os.path.join(tmp, "app.html"), os.path.join(tmp, "app.folded")
    r = subprocess.run([AGENT, "-q", "--profile", "--offcpu", "-d", "1s", "--flamegraph-output", path, "--folded-output",
                        folded, "--no-profile-output", "--", os.path.join(PROGS, "spin"), "1"], text=True,
                       stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=120)
    note(r.stderr)
    ok(r.returncode == 0, "a capture writes the page")
    browser.open(path)
    with open(folded) as f:
        lines = [re.fullmatch(r"(.*) (\d+)", line).groups() for line in f.read().splitlines()]
    choose("#type", 0)
    ok(total() == sum(int(n) for _, n in lines) > 0, "the page has the samples of the folded stacks")
    leaves = {stack.split(";")[-1] for stack, _ in lines}
    own = set(browser.run("return flame.table.rows.filter(r => r.self > 0).map(r => r.name)"))
    ok({re.sub(r"_\[[kji]\]$", "", leaf) for leaf in leaves} == own, "the page has the leaf functions of the folded stacks")
    ok(browser.run("return flame.data.views.map(v => v.name)") == ["on-cpu", "off-cpu"], "both profiles are in one page")
    is_quiet("a capture")


def varint(n):
    return bytes([n & 0x7f | 0x80]) + varint(n >> 7) if n > 0x7f else bytes([n])


def field(number, value):
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    return varint(number << 3 | 2) + varint(len(value)) + value


def test_types_of_others():
    """A file of another program, whose types may have any names: also those that every object of JavaScript has."""
    units = ["nanoseconds", "count", "__proto__", "constructor", "toString"]
    profile = b"".join(field(1, field(1, 1) + field(2, 2 + i)) for i in range(len(units)))
    profile += field(5, field(1, 1) + field(2, 1)) + field(4, field(1, 1) + field(4, field(1, 1)))
    profile += field(2, field(1, 1) + field(2, b"".join(varint(7 + i) for i in range(len(units)))))
    profile += b"".join(field(6, s.encode()) for s in ["", "x", *units])
    path, page_path = os.path.join(tmp, "types.pb"), os.path.join(tmp, "types.html")
    with open(path, "wb") as f:
        f.write(profile)
    subprocess.run([AGENT, "convert", path, "-o", page_path], check=True, timeout=120)
    browser.open(page_path)
    types = browser.run("return [...document.querySelectorAll('#type option')].map(o => o.textContent)")
    ok(types == ["x time", "number of x", "x (__proto__)", "x (constructor)", "x (toString)"],
       f"types are called as in the file: {types}")
    sums = []
    for i in range(len(units)):
        choose("#type", i)
        sums.append(total())
    ok(sums == [7, 8, 9, 10, 11], f"each has its values: {sums}")
    is_quiet("types of another program")


if missing():
    skip(missing())
    done()
tmp = workdir()
browser = Browser()
try:
    test_rendering()
    test_hostile_names()
    test_tip()
    test_zoom()
    test_keyboard()
    test_search()
    test_table()
    test_filters()
    test_views()
    is_quiet("table, zoom, keyboard, search and filters")
    test_difference()
    test_two_runs()
    test_types_of_others()
    test_large()
    if os.geteuid() == 0:
        test_capture()
finally:
    browser.close()
done()
