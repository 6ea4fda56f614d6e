#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A check that cannot fail proves nothing: each one is shown a tree with one fault, and one without.
set -u
scripts=$(cd "$(dirname "$0")/../../scripts" && pwd)
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
nr=0

ok() {
	nr=$((nr + 1))
	if [ "$1" -eq 0 ]; then
		echo "ok $nr - $2"
	else
		echo "not ok $nr - $2"
	fi
}

# file PATH: its content comes from stdin
file() {
	mkdir -p "$tree/$(dirname "$1")"
	cat >"$tree/$1"
}

# passes CHECK WHAT, fails CHECK WHAT: and leaves an empty tree for the next
passes() {
	"$scripts/check_$1" "$tree" >/dev/null 2>&1
	status=$?
	if [ "$status" -eq 77 ]; then
		nr=$((nr + 1))
		echo "ok $nr # SKIP the tool behind check_$1 is not installed"
	else
		ok "$status" "$1: passes $2"
	fi
	clear_tree
}

fails() {
	"$scripts/check_$1" "$tree" >/dev/null 2>&1
	status=$?
	if [ "$status" -eq 77 ]; then
		nr=$((nr + 1))
		echo "ok $nr # SKIP the tool behind check_$1 is not installed"
	else
		ok "$((status == 0))" "$1: stops $2"
	fi
	clear_tree
}

# says CHECK TEXT WHAT: stops it for that reason
says() {
	"$scripts/check_$1" "$tree" 2>&1 | grep -qF "$2"
	ok $? "$1: stops $3"
	clear_tree
}

clear_tree() {
	rm -rf "$tree"
	mkdir "$tree"
}

# layers [SED-SCRIPT]: the document that belongs to the layer table, changed
layers() {
	sed "${1:-}" "$scripts/../docs/architecture.md" | file docs/architecture.md
}

includes() {
	layers
	printf '#include %s\n' "$2" | file "$1"
}

includes src/elf/a.c '"base/buf.h"'
passes layers "an include of a lower layer"
includes src/base/a.c '<perfagent/perfagent.h>'
passes layers "the public header in base"
includes src/unwind/a.c '"bpf/abi.h"'
passes layers "the kernel's structures where they are listed"
includes src/collect/a.c '<bpf/libbpf.h>'
passes layers "libbpf in collect"
includes src/collect/a.c '"perf_agent.skel.h"'
passes layers "the skeleton in collect"
includes src/elf/a.c '"profile/profile.h"'
fails layers "an include of a layer beside"
includes src/base/a.c '"elf/elf_image.h"'
fails layers "an include of a higher layer"
includes src/cli/main.c '"base/buf.h"'
fails layers "a private header in cli"
includes src/symbolize/a.h '"bpf/abi.h"'
fails layers "the kernel's structures where they are not listed"
includes src/agent/a.c '<bpf/libbpf.h>'
fails layers "libbpf outside collect"
includes src/write/a.c '"perf_agent.skel.h"'
fails layers "the skeleton outside collect"
includes bpf/walk.bpf.c '"base/buf.h"'
fails layers "an include of user space in bpf"
includes bpf/walk.bpf.c '<stdio.h>'
fails layers "libc in bpf"
includes src/elf/a.c '"nowhere.h"'
fails layers "a header that is not there"
includes src/newdir/a.c '<stdio.h>'
fails layers "a directory that has no row in the table"
includes src/base/a.c '"../base/buf.h"'
echo 'int a;' | file src/base/buf.h
passes layers "a relative path to a header of the same directory"
includes src/base/a.c '"../agent/session.h"'
echo 'int a;' | file src/agent/session.h
says layers 'base may not include agent/session.h' "a relative path to a higher layer"
includes src/base/a.c '"../../tests/tap.h"'
echo 'int a;' | file tests/tap.h
says layers '"tests/tap.h" is neither' "a relative path to what is not in src"

says layers 'the row of base differs' "a tree without the document"
# shellcheck disable=SC2016 # backquotes of Markdown
for change in 's/| `dwarf` | `base`, /| `dwarf` | /' 's/| `dwarf` | `base`, /&`proc`, /' '/^| `dwarf` |/d' \
	'/^| `dwarf` |/s/$/ more |/'; do
	layers "$change"
	says layers 'the row of dwarf differs' "another document: $change"
done
# shellcheck disable=SC2016
layers 's/, the walker `bpf\/walk.h`//'
says layers 'the row of stacks differs from scripts/check_layers in bpf/walk.h' "a header of bpf/ that the document lacks"
# shellcheck disable=SC2016
layers 's/`bpf\/buckets.h`, //'
says layers 'the row of stats differs' "a header that is not in its group"
layers '/^          dwarf\/ /d'
says layers 'the drawing and scripts/check_layers differ in dwarf' "a drawing without a directory"

sed "s/'dwarf': ('base', 'elf')/'dwarf': ('base', 'elf', 'symbolize')/" "$scripts/check_layers" | file check_layers
chmod +x "$tree/check_layers"
own_scripts=$scripts
scripts=$tree
says layers 'scripts/check_layers: symbolize is in a circle' "directories that include each other"
scripts=$own_scripts

# shares NR: seven directories of the same size, and one with NR lines
shares() {
	layers
	for room in elf dwarf proc unwind stats fetch write; do
		yes 'int a;' | head -n 1500 | file "src/$room/a.c"
	done
	yes 'int a;' | head -n "$1" | file src/agent/a.c
}
shares 1800
passes layers "a directory with 14.6 % of the lines"
shares 1900
says layers 'src/agent: 1900 of 12400 lines' "a directory with 15.3 % of the lines"

echo 'int a;' | file src/elf/a.c
echo 'int a;' | file src/elf/a.h
echo 'int a;' | file bpf/b.bpf.c
passes names "a source beside its header"
echo 'int a;' | file src/elf/a.c
echo 'int a;' | file bpf/a.bpf.h
fails names "one base name in two directories"
printf 'static int run(void)\n{\n\treturn 0;\n}\n' | file src/elf/a.c
passes names "a static function of one word"
printf 'static int run(void)\n{\n\treturn 0;\n}\n' | file src/elf/a.c
printf 'static int run(void)\n{\n\treturn 0;\n}\n' | file src/elf/b.c
fails names "the same in two files"

echo '// SPDX-License-Identifier: Apache-2.0' | file src/a.c
passes spdx "a file with its tag"
echo 'int a;' | file src/a.c
fails spdx "a file without one"
echo '// SPDX-License-Identifier: Apache-2.0' | file bpf/a.bpf.c
fails spdx "one licence where bpf/ has two"

{
	echo 'int f(int a) {'
	yes 'a++;' | head -n 90
	echo 'return a; }'
} | file src/a.c
fails complexity "a function of 92 lines"
{
	echo 'int f(int a) {'
	yes 'if (a) a++;' | head -n 16
	echo 'return a; }'
} | file src/a.c
fails complexity "a function with 17 paths"
echo 'int f(int a) { return a; }' | file src/a.c
passes complexity "a small function"

printf 'int f( int a );\n' | file src/a.c
fails format "spaces inside parentheses"
printf 'int f(int a);\n' | file src/a.c
passes format "what clang-format would write"

printf 'PERFAGENT_0.1 {\nglobal:\n\tpa_a;\nlocal:\n\t*;\n};\n' | file src/perfagent.map
printf 'PA_API int pa_a(void);\nPA_API const struct pa_s *pa_b(int a);\n' | file include/perfagent/perfagent.h
fails exports "a function that the version script forgot"
printf 'PERFAGENT_0.1 {\nglobal:\n\tpa_a;\n\tpa_b;\nlocal:\n\t*;\n};\n' | file src/perfagent.map
printf 'PA_API int pa_a(void);\n' | file include/perfagent/perfagent.h
fails exports "a function that the header forgot"
for names in pa_a 'pa_a*(), *pa_b'; do
	printf 'PERFAGENT_0.1 {\nglobal:\n\tpa_a;\nlocal:\n\t*;\n};\n' | file src/perfagent.map
	printf 'PA_API int pa_a(void);\n' | file include/perfagent/perfagent.h
	printf 'x(3)\n\n# NAME\n\n*%s*()\n' "$names" | file docs/libperfagent.3.scd
	if [ "$names" = pa_a ]; then
		passes exports "a manual page with every function"
	else
		fails exports "a manual page with a function that the header does not have"
	fi
done
printf 'PERFAGENT_0.1 {\nglobal:\n\tpa_a;\nlocal:\n\t*;\n};\n' | file src/perfagent.map
printf 'PA_API int pa_a(void);\n' | file include/perfagent/perfagent.h
printf 'x(3)\n\n# NAME\n\nx - y\n' | file docs/libperfagent.3.scd
fails exports "a manual page that forgot a function"

# abi WHAT SED-SCRIPT: a tree whose header differs from the baseline by that.
abi() {
	printf 'struct pa_a {\n\tsize_t sz;\n\tint b;\n\tunsigned int rate;\n\tconst char *name;\n' >"$tree/old.h"
	printf '\tunsigned long ns;\n\tbool all;\n\tint (*fn)(void *ctx);\n};\nenum pa_e {\n\tPA_X = 1,\n};\n' >>"$tree/old.h"
	printf 'PA_API int pa_f(struct pa_a *a, enum pa_e e);\n' >>"$tree/old.h"
	{
		printf '#include <stdbool.h>\n#include <stddef.h>\n#define PA_API __attribute__((visibility("default")))\n'
		cat "$tree/old.h"
	} | file tests/lint/abi_baseline.h
	sed "$1" "$tree/tests/lint/abi_baseline.h" | file include/perfagent/perfagent.h
}
abi ''
passes abi "the same header"
abi 's/ctx);/&\n\tint c;/'
passes abi "a member at the end"
abi 's/int b;/int c, b;/'
fails abi "a member that has moved"
# each with a member at the end as well, which alone passes
for change in 's/unsigned int rate/unsigned long rate/' 's/unsigned long ns/unsigned int ns/' \
	's/bool all/char *all/' 's/int b;/float b;/' 's/unsigned int rate/int rate/' 's/void \*ctx/long ctx/' \
	'/name;/d'; do
	abi "$change; s/ctx);/&\n\tint c;/"
	fails abi "another member: $change"
done
printf 'f(PA_ITEM(s, pa_b, s->bs, i));\n' | file src/cli/a.c
abi 's/ctx);/&\n\tconst struct pa_b *bs;\n\tsize_t nr_bs;/'
passes abi "a list that the program steps through by its size in the library"
printf 'f(s->bs[i]);\n' | file src/cli/a.c
abi 's/ctx);/&\n\tconst struct pa_b *bs;\n\tsize_t nr_bs;/'
fails abi "a list that the program steps through by its own size"
abi 's/PA_X = 1/PA_X = 2/'
fails abi "an enumerator with another value"
abi '/pa_f/d'
fails abi "a function that is gone"

printf 'f("use --pid");\n' | file src/agent/a.c
fails messages "a flag in a sentence of the library"
printf 'f("see perf-agent doctor'"'"'");\n' | file src/agent/a.c
fails messages "a command in a sentence of the library"
printf 'X(A, 1, "less often (-F)")\n' | file bpf/a.def
fails messages "a flag of one letter, in a list of the BPF side"
printf 'f("use -p to choose");\n' | file src/agent/a.c
fails messages "a flag of one letter in a sentence"
printf 'f("build it with -fno-omit-frame-pointer, or run ps -e at -1");\n' | file src/agent/a.c
passes messages "a flag of a compiler, and a number"
printf 'f("use --pid");\n' | file src/cli/a.c
passes messages "a flag in the program"
printf '/* "--pid" */ f("start node with --perf-basic-prof");\n' | file src/agent/a.c
passes messages "a flag in a comment, and one of another program"
printf 'struct pa_options {\n\tint b;\n};\n' | file include/perfagent/perfagent.h
printf 'f("raise pa_options.a");\n' | file src/agent/a.c
fails messages "a member that is not there"
printf 'struct pa_options {\n\tint a;\n};\n' | file include/perfagent/perfagent.h
printf 'f("raise pa_options.a");\n' | file src/agent/a.c
passes messages "a member that is there"

head -c 300001 /dev/zero | file tests/big.bin
fails sizes "a file of 300,001 bytes"
head -c 300000 /dev/zero | file tests/big.bin
passes sizes "a file of 300,000 bytes"

# shellcheck disable=SC2016 # the parameter is that of the other script
printf '#!/bin/sh\necho $1\n' | file tool
fails shell "an unquoted parameter in a script without a suffix"
printf 'it was %s\n' 'recie''ved' | file README.md
fails spelling "a misspelt word"

printf '[next](docs/b.md#two-words)\n' | file README.md
printf '## Two words\n' | file docs/b.md
passes docs "a link to a heading of another document"
printf '[next](docs/b.md#three-words)\n' | file README.md
printf '## Two words\n' | file docs/b.md
fails docs "a link to a heading that is not there"
printf '[next](docs/b.md)\n' | file README.md
fails docs "a link to a document that is not there"
for last in c.md d/e.md; do
	printf '[a](docs/a.md)\n' | file README.md
	printf '[b](b.md)\n' | file docs/a.md
	printf '[c](%s)\n' "$last" | file docs/b.md
	printf '# Far\n' | file "docs/$last"
	says docs "docs/$last: README.md does not lead there by two links" "a document that is three links away"
done
printf '[a](docs/a.md)\n' | file README.md
printf '[b](b.md)\n' | file docs/a.md
printf '# Near\n' | file docs/b.md
passes docs "a document that is two links away"
# shellcheck disable=SC2016 # backquotes of Markdown
printf 'see `src/a/b.c`\n' | file README.md
fails docs "the name of a source file that is not there"
printf '[build]\ngcc # why\nclang\n\n[test]\ngit\n' | file packaging/build-deps.txt
printf 'sudo apt-get install clang gcc\n' | file README.md
passes docs "the packages that a build needs"
printf '[build]\ngcc # why\nclang\n\n[test]\ngit\n' | file packaging/build-deps.txt
printf 'sudo apt-get install gcc git\n' | file README.md
fails docs "other packages than a build needs"

# packaging BUILD_DEPENDS VERSION SYMBOL: debian/ with these, beside [build] = gcc, clang; version 1.2.0; pa_a().
packaging() {
	printf '[build]\ngcc # why\nclang\n\n[test]\ngit\n' | file packaging/build-deps.txt
	printf "project('a', 'c',\n  version: '1.2.0',\n" | file meson.build
	printf 'A_1 {\nglobal:\n\tpa_a;\n};\n' | file src/perfagent.map
	printf 'Source: a\nBuild-Depends:\n debhelper-compat (= 13),\n%b\n\nPackage: b\nDepends: c\n' "$1" | file debian/control
	printf 'a (%s) unstable\n' "$2" | file debian/changelog
	printf 'liba.so.1 liba1 #MINVER#\n %s@A_1 1.2\n' "$3" | file debian/libperfagent0.symbols
}

packaging ' clang (>= 14),' 1.2.0-1 pa_a
passes packaging "packages that agree with the project"
packaging ' clang,\n meson,' 1.2.0-1 pa_a
says packaging 'debian/control: meson' "a build dependency that the project does not list"
packaging '' 1.2.0-1 pa_a
says packaging 'debian/control: clang' "a build dependency that the package lacks"
packaging ' clang,' 1.1.9-1 pa_a
says packaging 'version 1.1.9, in meson.build 1.2.0' "a package of another version"
packaging ' clang,' 1.2.0-1 pa_b
says packaging 'debian/libperfagent0.symbols: pa_a' "a function that the symbols file lacks"
packaging ' clang,' 1.2.0-1 pa_a
printf 'It is described in _docs/a-b.md_.\n' | file docs/a.1.scd
printf "install_data('a-b.md')\n" | file docs/meson.build
printf 'install docs/b.md\n' | file scripts/release_tarball
says packaging 'scripts/release_tarball: a-b.md, to which' "a document of the manual that is not installed"

# shellcheck disable=SC2016 # backquotes of Markdown
# troubleshooting ROW: a document with this row, and a doctor that says "clock: it is wrong by N s" and CAP_A.
troubleshooting() {
	printf 'say(d, FAILED, "clock", "set it", "it is %%s by %%d s", a ? "wrong" : "right", b);\n' | file src/agent/doctor.c
	printf 'all = { { CAP_A, "CAP_A", "clocks" } };\n' | file src/collect/privileges.c
	printf '## What doctor says\n\n| `CAP_A` | x |\n%s\n' "$1" | file docs/troubleshooting.md
}
# shellcheck disable=SC2016 # backquotes of Markdown
{
	troubleshooting '| `clock: it is … by … s` | set it |'
	passes troubleshooting "a document with all that doctor says"
	troubleshooting ''
	says troubleshooting 'doctor says "clock: it is %s by %d s"' "a document that lacks a line of doctor"
	troubleshooting '| `clock: it is … by … s`, `clock: it is late` | set it |'
	says troubleshooting 'doctor does not say "clock: it is late"' "a line that doctor does not say"
	troubleshooting '| `clock: it is mad by … s` | set it |'
	says troubleshooting 'nothing says "clock: it is mad by … s"' "a line with a word that no string has"
	troubleshooting '| `clock: it is … by … s` | set it |'
	printf 'all = { { CAP_A, "CAP_A", "clocks" }, { CAP_B, "CAP_B", "time" } };\n' | file src/collect/privileges.c
	says troubleshooting 'doctor names CAP_B' "a document that lacks a capability"
	troubleshooting '| `clock: it is … by … s` | set it |'
	printf 'X(END, 0, "complete", "", NULL)\nX(A, 1, "stopped", "", NULL)\n' | file bpf/stop_reasons.def
	says troubleshooting 'stacks are truncated for stopped' "a document that lacks a reason of truncated stacks"
	troubleshooting '| `clock: it is … by … s` | set it |

## It does not start

| `no clock` | buy one |'
	says troubleshooting 'nothing says "no clock"' "a message that is not in the sources"
}

# shellcheck disable=SC2016 # backquotes of Markdown
printf 'It reads `cmdlnie`.\n' | file README.md
passes prose "a misspelt word inside code"
printf 'An %s sentence.\n' 'ordi''narry' | file README.md
fails prose "a misspelt word in a document"
printf '/* Nothing is reported; the two are told apart. */\n' | file src/a/a.c
passes words "a comment in plain words"
printf '/* The walk went\n * astray. */\n' | file src/a/a.c
fails words "a word of our own in a comment"
printf 'f("a stack that is cut off");\n' | file src/a/a.c
fails words "a word of our own in a message"
printf 'ok(x["cure"], "the fix is there")\n' | file tests/a.py
passes words "a word of our own in an expression of a Python test"
printf 'ok(x, "the stack is cut off")\n' | file tests/a.py
fails words "a word of our own in the text of a Python test"
printf '# It is told.\nok()\n' | file tests/a.py
fails words "a word of our own in a comment of a Python test"
printf 'ok(x, f"{what}: all of\\n"\n   "and nothing else than them")\n' | file tests/a.py
passes words "a test name of two literals"
for name in '"... and nothing else"' '"nor is it seen again"' 'f"{what}: so is its file"'; do
	printf 'ok(x, %s)\n' "$name" | file tests/a.py
	fails words "a test name that continues the one before: $name"
done
printf 'void f(void)\n{\n\tok(x, "and it is there");\n}\n' | file tests/a.c
fails words "a test name in C that continues the one before"
printf 'ok $? "... but only once"\n' | file tests/a.sh
fails words "a test name in a shell script that continues the one before"
printf '#!/bin/sh\nprintf %sit went astray again%s\n' "'" "'" | file scripts/a
passes words "a word of our own in data of a shell script"
printf '#!/bin/sh\n# The walk went astray.\n' | file scripts/a
fails words "a word of our own in a comment of a shell script"
printf 'static int tell_user(void);\n' | file src/a/a.c
fails words "a word of our own in an identifier of C"
printf 'told = read()\n' | file tests/a.py
fails words "a word of our own in an identifier of Python"
printf '/* There is no room, and no more is needed. */\n' | file src/a/a.c
passes words "a comment with \"there is no\""
printf 'f("what stands here is no URL of ours");\n' | file src/a/a.c
fails words "a message with \"is no\" for \"is not a\""
printf '{"cure": "install it"}\n' | file tests/recorded/a.json
passes words "a field of an expected report"
printf '{"why": "code made at run time"}\n' | file tests/recorded/a.json
fails words "a word of our own in an expected report"
printf 'hint     the stack is cut off\n' | file tests/recorded/a.txt
fails words "a word of our own in an expected report of a terminal"
printf 'a(1)\n\n# NAME\n\na - b\n' | file docs/perf-agent.1.scd
passes manual "a manual page"
printf '# NAME\n\na - b\n' | file docs/perf-agent.1.scd
fails manual "a manual page that scdoc rejects"
printf 'a(1)\n\n# NAME\n\na - b\n' | file docs/a.1.scd
printf '# NAME\n\na - b\n' | file docs/b.3.scd
fails manual "the second of two manual pages"

# What ./check counts, from a log as meson writes it.
counts() {
	printf '%s\n' "$2" | file log.json
	got=$("$scripts/count_tests" L "$tree/log.json" | cut -f 1 | sort | uniq -c |
		awk '{ printf "%s%s %s", sep, $1, $2; sep = ", " }')
	[ "$got" = "$1" ]
	ok $? "count_tests: $3"
	[ "$got" = "$1" ] || echo "# got: $got"
	clear_tree
}

counts '2 pass' '{"name": "a", "result": "OK", "stdout": "ok 1 - x\nok 2 - y\n1..2\n"}' \
	"each check of a TAP test counts"
counts '1 fail, 1 pass' '{"name": "a", "result": "FAIL", "stdout": "ok 1 - x\nnot ok 2 - y\n1..2\n"}' \
	"a failed check is one failure, not two"
counts '1 fail, 2 pass' '{"name": "a", "result": "ERROR", "stdout": "ok 1\nok 2\n1..2\n"}' \
	"a bad exit status after good checks is a failure"
counts '1 pass, 1 skip' '{"name": "a", "result": "OK", "stdout": "ok 1 - x\nok 2 # SKIP no perf\n1..2\n"}' \
	"a skipped check is not a passed one"
counts '1 skip' '{"name": "a", "result": "SKIP", "stdout": "1..0 # SKIP no perf\n"}' \
	"a test that is skipped as a whole counts once"
counts '1 skip' '{"name": "a", "result": "SKIP", "stdout": "no tool\n"}' "a skip without TAP counts once"
counts '1 fail' '{"name": "a", "result": "TIMEOUT"}' "a test that never ends is a failure"

printf 'ok 1 - x\nok 2 - y\n' | file tap
[ "$("$scripts/count_tests" --tap FAIL L "$tree/tap" | cut -f 1 | tr '\n' ' ')" = "pass pass fail " ]
ok $? "count_tests: --tap adds a failure to good checks of a bad run"
clear_tree

echo "1..$nr"
