#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The tarball and the packages are made a second time: in another directory, later, with another umask, locale and time
# zone, and with the unit tests, which dpkg-buildpackage runs unless DEB_BUILD_OPTIONS has nocheck. They are the same
# bytes as what test_tarball.sh and test_deb_build.sh have made before.
# shellcheck disable=SC2317 # functions are called through check
set -u
cd "$(dirname "$0")/../.." || exit 1
. scripts/lib.sh
. scripts/source_lib.sh
. tests/packages/shell_tap.sh

[ -d build-release ] || skip_all "test_tarball.sh has made no tarball"
[ -d build-deb ] || skip_all "test_deb_build.sh has made no packages"
other=$PWD/build-again/with/a/longer/name
rm -rf build-again
mkdir -p "$other"
SOURCE_DATE_EPOCH=$(source_epoch)
export SOURCE_DATE_EPOCH

copy_sources() {
	umask 027
	scripts/source_files | tar -c --files-from=- | tar -x -C "$other"
}

# again COMMAND…: in the copy, where nothing is as it was
again() {
	(cd "$other" && umask 027 && TZ=Pacific/Auckland LC_ALL=C "$@")
}

# are_same DIR PATTERN…: at least one file matches, and each is the same in both
are_same() {
	dir=$1
	shift
	nr_same=0
	for pattern; do
		for file in "$dir"/$pattern; do
			cmp "$file" "$other/$file" || return 1
			nr_same=$((nr_same + 1))
		done
	done
	[ "$nr_same" -gt 0 ]
}

check "again: the sources are copied" copy_sources
check "again: a second tarball is made" again scripts/release_tarball
check "again: the second tarball has the same bytes" are_same build-release '*.tar.gz' '*.sha256'
check "again: the packages are built a second time, and their unit tests pass" again scripts/build_deb
check "again: the second packages have the same bytes" are_same build-deb '*.deb'
check "again: the second source package has the same bytes" are_same build-deb '*.dsc' '*.tar.*'
finish_tap
