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

clear_tree() {
	rm -rf "$tree"
	mkdir "$tree"
}

includes() {
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

head -c 300001 /dev/zero | file tests/big.bin
fails sizes "a file of 300,001 bytes"
head -c 300000 /dev/zero | file tests/big.bin
passes sizes "a file of 300,000 bytes"

# shellcheck disable=SC2016 # the parameter is that of the other script
printf '#!/bin/sh\necho $1\n' | file tool
fails shell "an unquoted parameter in a script without a suffix"
printf 'it was %s\n' 'recie''ved' | file README.md
fails spelling "a misspelt word"

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
