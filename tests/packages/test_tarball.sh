#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The release tarball, as scripts/release_tarball makes it in build-release/ of the program in build-static/.
# shellcheck disable=SC2317 # functions are called through check
set -u
cd "$(dirname "$0")/../.." || exit 1
. scripts/lib.sh
. scripts/source_lib.sh
. tests/packages/shell_tap.sh
version=$(project_version)
name=perf-agent-$version-linux-$(uname -m)
tarball=build-release/$name.tar.gz
installed=build-release/installed

# As docs/install.md says.
installs() {
	(cd build-release && sha256sum --check "$name.tar.gz.sha256") && mkdir -p "$installed" &&
		tar --strip-components=1 -C "$installed" -xzf "$tarball"
}

runs() {
	"$installed/bin/perf-agent" --version | grep -q "^perf-agent $version"
}

is_alone() {
	LC_ALL=C ldd "$installed/bin/perf-agent" 2>&1 | grep -E 'not a dynamic executable|statically linked'
}

has_all_files() {
	for file in share/man/man1/perf-agent.1 share/bash-completion/completions/perf-agent \
		share/zsh/site-functions/_perf-agent share/fish/vendor_completions.d/perf-agent.fish \
		share/doc/perf-agent/README.md share/doc/perf-agent/LICENSE \
		share/doc/perf-agent/LICENSES/GPL-2.0-only.txt share/doc/perf-agent/libraries/libelf-dev; do
		[ -s "$installed/$file" ] || {
			echo "missing: $file"
			return 1
		}
	done
}

# Nothing of the machine and of the moment: owner, time, order.
is_neutral() {
	TZ=UTC LC_ALL=C tar --full-time --numeric-owner -tvzf "$tarball" >build-release/list
	time=$(date -u -d "@$(source_epoch)" '+%Y-%m-%d %H:%M:%S')
	! grep -vE "^[d-]r[w-][x-]r-[x-]r-[x-] 0/0 +[0-9]+ $time " build-release/list &&
		awk '{ sub("/$", "", $6); print $6 }' build-release/list | LC_ALL=C sort -c &&
		[ "$(dd if="$tarball" bs=1 skip=3 count=5 2>/dev/null | od -An -tx1 | tr -d ' ')" = 0000000000 ]
}

check "tarball: the tarball is made" scripts/release_tarball
check "tarball: the checksum is right, and the files are unpacked" installs
check "tarball: the program runs and has the version of the sources" runs
check "tarball: the program needs no shared library" is_alone
check "tarball: manual page, completions, documents and licences are there" has_all_files
check "tarball: owner, modes, times and order say nothing of where and when it was made" is_neutral
finish_tap
