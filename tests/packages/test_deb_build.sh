#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The Debian packages, as scripts/build_deb makes them of the files that are here, in build-deb/. Their unit tests are
# run by test_reproducible.sh: here the compilation alone takes minutes.
# shellcheck disable=SC2317 # functions are called through check
set -u
cd "$(dirname "$0")/../.." || exit 1
. scripts/lib.sh
. scripts/source_lib.sh
. tests/packages/shell_tap.sh

for tool in dpkg-buildpackage dh lintian; do
	command -v "$tool" >/dev/null || skip_all "$tool is not installed"
done
version=$(project_version)
arch=$(dpkg --print-architecture)

has_file() {
	dpkg-deb -c "build-deb/$1_$version-1_$arch.deb" | awk '{ print $6 }' | grep -Ex "\./$2"
}

is_hardened() {
	dpkg-deb -x "build-deb/perf-agent_$version-1_$arch.deb" build-deb/unpacked &&
		readelf -Wld build-deb/unpacked/usr/bin/perf-agent | grep -E 'BIND_NOW|Flags:.*PIE' | grep -q NOW &&
		readelf -Wh build-deb/unpacked/usr/bin/perf-agent | grep -q 'DYN (Position-Independent'
}

check "deb: the packages are built" env DEB_BUILD_OPTIONS=nocheck scripts/build_deb
check "deb: lintian finds no errors" lintian --allow-root --fail-on error --info build-deb/*.changes
sed 's/^/# /' "$out"
for file in usr/bin/perf-agent usr/share/man/man1/perf-agent.1.gz \
	usr/share/bash-completion/completions/perf-agent usr/share/zsh/vendor-completions/_perf-agent \
	usr/share/fish/vendor_completions.d/perf-agent.fish; do
	check "deb: perf-agent has /$file" has_file perf-agent "$file"
done
check "deb: libperfagent0 has the library" has_file libperfagent0 'usr/lib/[^/]*/libperfagent[.]so[.]0'
for file in usr/include/perfagent/perfagent.h 'usr/lib/[^/]*/pkgconfig/perfagent.pc' \
	usr/share/man/man3/libperfagent.3.gz usr/share/doc/libperfagent-dev/examples/capture.c; do
	check "deb: libperfagent-dev has /$file" has_file libperfagent-dev "$file"
done
check "deb: the program is position-independent and binds its symbols at start" is_hardened
finish_tap
