# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# What ./demo and ./check share: say and run commands, become root where it is needed, install the
# packages of packaging/build-deps.txt. Sourced from the top of the repository.

# bpftool and ldconfig live in sbin, which is not in every user's PATH.
PATH=$PATH:/usr/sbin:/sbin
export PATH
export DEBIAN_FRONTEND=noninteractive

DEPS_FILE=packaging/build-deps.txt

say() {
	printf '%s\n' "$*"
}

die() {
	printf '%s: %s\n' "${0##*/}" "$*" >&2
	exit 1
}

# Every command that does something is shown before it runs.
run() {
	printf '+ %s\n' "$*"
	"$@"
}

# True when root is at hand. sudo may ask for a password only where somebody can answer. The answer
# is kept, so that a refusal is heard once.
can_root() {
	if [ -z "${ROOT_STATE:-}" ]; then
		ROOT_STATE=no
		SUDO=
		if [ "$(id -u)" -eq 0 ]; then
			ROOT_STATE=yes
		elif command -v sudo >/dev/null 2>&1; then
			SUDO=sudo
			[ -t 0 ] || SUDO='sudo -n'
			if $SUDO true >/dev/null 2>&1; then
				ROOT_STATE=yes
			fi
		fi
	fi
	[ "$ROOT_STATE" = yes ]
}

# as_root COMMAND…: only after can_root said yes.
as_root() {
	# shellcheck disable=SC2086 # empty, or two words
	run $SUDO "$@"
}

# read_deps GROUP…: the packages of these groups, a line each, with the command that makes one unnecessary.
read_deps() {
	awk -v groups="$*" '
		BEGIN { n = split(groups, list, " "); for (i = 1; i <= n; i++) wanted[list[i]] = 1 }
		{ sub(/#.*/, "") }
		/^\[/ { group = $1; gsub(/[][]/, "", group); next }
		NF && group in wanted { print $1, $2 }
	' "$DEPS_FILE"
}

# deps_of GROUP…: the packages of these groups.
deps_of() {
	read_deps "$@" | awk '{ print $1 }'
}

# missing_deps GROUP…: those that are not installed, and whose command is not there either.
missing_deps() {
	read_deps "$@" | while read -r package program; do
		state=$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null) || state=
		[ "$state" = installed ] && continue
		[ -n "$program" ] && command -v "$program" >/dev/null 2>&1 && continue
		printf '%s ' "$package"
	done
}

apt_get() {
	as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -y \
		-o Acquire::Retries=3 -o DPkg::Lock::Timeout=300 "$@"
}

apt_install() {
	# shellcheck disable=SC2086 # a list of names
	apt_get install --no-install-recommends $1
}

# True when apt has never been told what there is.
apt_lists_missing() {
	for list in /var/lib/apt/lists/*_Packages* /var/lib/apt/lists/*_InRelease; do
		[ -e "$list" ] && return 1
	done
	return 0
}

# install_deps GROUP…: does nothing, without a look at the network, when all are there. Returns 1 and
# says what to do where they cannot be installed.
install_deps() {
	if ! command -v dpkg-query >/dev/null 2>&1; then
		say "not a Debian: what the packages in $DEPS_FILE hold has to be there"
		return 0
	fi
	missing=$(missing_deps "$@")
	[ -n "$missing" ] || return 0
	if ! can_root; then
		say "missing, and neither root nor sudo to install them: $missing"
		say "  as root: apt-get install --no-install-recommends $missing"
		return 1
	fi
	if apt_lists_missing; then
		apt_get update && apt_install "$missing"
	else
		# lists can be older than what the mirror still has
		apt_install "$missing" || { apt_get update && apt_install "$missing"; }
	fi
}

# setup_build DIR OPTION…: with tests; configures once; later calls only look for what has been installed since.
setup_build() {
	dir=$1
	shift
	if [ -f "$dir/build.ninja" ]; then
		run meson setup --reconfigure "$dir" -Dtests=true "$@" >"$dir/setup.log" || {
			cat "$dir/setup.log"
			return 1
		}
	else
		run meson setup "$dir" -Dtests=true "$@"
	fi
}

# The program as one file that needs no shared library, for any system of this architecture.
setup_static() {
	setup_build build-static --buildtype=release -Dprefer_static=true -Ddefault_library=static \
		-Dc_link_args=-static
}
