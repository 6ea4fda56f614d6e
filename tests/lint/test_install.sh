#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What a plain `meson setup` builds is what `meson install` installs.
set -u
top=$(cd "$(dirname "$0")/../.." && pwd)
tmp=$(mktemp -d) || exit 99
trap 'rm -rf "$tmp"' EXIT
nr=0
failed=0

ok() {
	nr=$((nr + 1))
	if [ "$1" -eq 0 ]; then
		echo "ok $nr - $2"
	else
		failed=1
		echo "not ok $nr - $2"
		sed 's/^/# /' "$tmp/out"
	fi
}

meson setup --prefix /usr "$tmp/build" "$top" >"$tmp/out" 2>&1
ok $? "install: the build is configured without options"
ninja -C "$tmp/build" -t targets all >"$tmp/targets" 2>"$tmp/out"
grep -E '^(tests|bench)/' "$tmp/targets" >"$tmp/out"
[ $? -eq 1 ]
ok $? "install: no target of tests or benchmarks is built"
grep -q '^src/cli/perf-agent:' "$tmp/targets"
ok $? "install: the program is built"
meson introspect --installed "$tmp/build" >"$tmp/installed" 2>"$tmp/out"
for file in bin/perf-agent include/perfagent/perfagent.h lib/libperfagent.so lib/libperfagent.a lib/pkgconfig/perfagent.pc \
	share/bash-completion/completions/perf-agent share/zsh/site-functions/_perf-agent \
	share/fish/vendor_completions.d/perf-agent.fish; do
	tr ',' '\n' <"$tmp/installed" | sed 's/.*: "//; s/"}*$//' >"$tmp/out"
	grep -Eqx "/usr/$file(\.[0-9.]+)?" "$tmp/out"
	ok $? "install: /usr/$file is installed"
done
echo "1..$nr"
exit "$failed"
