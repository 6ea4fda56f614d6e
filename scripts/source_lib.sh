# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# What scripts/build_deb and scripts/release_tarball share: archives with the same bytes wherever and whenever they
# are made. Sourced after scripts/lib.sh, from the top of the repository.

project_version() {
	sed -n "s/^ *version: '\([0-9.]*\)',.*/\1/p" meson.build | head -n 1
}

# source_epoch: SOURCE_DATE_EPOCH, else the time of the last commit, else of the last version.
source_epoch() {
	if [ -n "${SOURCE_DATE_EPOCH:-}" ]; then
		echo "$SOURCE_DATE_EPOCH"
	elif [ ! -e .git ] || ! git -c safe.directory='*' log -1 --format=%ct 2>/dev/null; then
		date -d "$(sed -n 's/^ -- .*>  //p' debian/changelog | head -n 1)" +%s
	fi
}

# tar_gz OUT TAR_OPTION…: of what TAR_OPTION names, with nothing in it that differs from one machine to the next.
tar_gz() {
	tar_gz_out=$1
	shift
	LC_ALL=C tar --create --format=gnu --sort=name --mtime="@$(source_epoch)" --owner=0 --group=0 \
		--numeric-owner --mode='u+rw,go=u,go-w,a-s' "$@" >"$tar_gz_out.part"
	gzip -n -9 <"$tar_gz_out.part" >"$tar_gz_out"
	rm "$tar_gz_out.part"
}

# source_archive NAME OUT: of the files that are listed on standard input, below NAME/.
source_archive() {
	LC_ALL=C sort | tar_gz "$2" --transform="flags=r;s|^|$1/|" --no-recursion --files-from=-
}
