#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What the packages in build-deb/ do in a new Debian 12: installed by apt, used by a member of the group and by somebody
# else, installed again, purged. Needs root. PACKAGES_KEEP=1 leaves the directory behind.
# shellcheck disable=SC2317,SC2086 # most functions are called through check; PROGRAM is one word
set -u
cd "$(dirname "$0")/../.." || exit 1
. scripts/lib.sh
. scripts/source_lib.sh
. scripts/debian_root.sh
. tests/packages/shell_tap.sh
PROGRAM=/usr/bin/perf-agent

if [ "${1:-}" != --in-namespace ]; then
	[ "$(id -u)" -eq 0 ] || skip_all "needs root, to make a Debian system"
	command -v mmdebstrap >/dev/null || skip_all "mmdebstrap is not installed"
	rm -f "$out"
	work=$(mktemp -d "${TMPDIR:-/var/tmp}/perf-agent-packages.XXXXXX")
	status=0
	unshare --mount --propagation private "$0" --in-namespace "$work" || status=$?
	[ -n "${PACKAGES_KEEP:-}" ] || rm -rf --one-file-system "$work"
	exit "$status"
fi
work=$2
root=$work/root
version=$(project_version)
arch=$(dpkg --print-architecture)
debs=/tmp/debs

as() {
	user=$1
	shift
	home=/home/$user
	[ "$user" != root ] || home=/root
	in_debian "$root" "$user" "$home" "cd $home && $*"
}

# deb NAME…: their files, as apt wants them
deb() {
	for name; do
		printf '%s ' "$debs/${name}_$version-1_$arch.deb"
	done
}

apt() {
	as root "DEBIAN_FRONTEND=noninteractive apt-get -q -y --no-install-recommends $*"
}

# is TEXT COMMAND…: root's COMMAND prints TEXT
is() {
	text=$1
	shift
	got=$(as root "$*")
	[ "$got" = "$text" ] || {
		echo "expected: $text"
		echo "got:      $got"
		return 1
	}
}

# has_owner OWNER MODE
has_owner() {
	is "$1 $2" stat -c "'%U:%G %a'" $PROGRAM
}

# What doctor asks for on this machine; its order and getcap's are not the same.
has_capabilities() {
	as root getcap $PROGRAM | sed 's/.* //; s/=ep$//' | tr ',' '\n' | sort >"$work/given"
	as nobody_else "/tmp/copy doctor" | sed -n "s/.*setcap \([a-z_,]*\)+ep .*/\1/p" | tr ',' '\n' | sort -u >"$work/wanted"
	diff "$work/wanted" "$work/given" && [ -s "$work/wanted" ]
}

has_no_capabilities() {
	is "" getcap $PROGRAM
}

fails_with() {
	expected=$1
	shift
	"$@"
	[ $? -eq "$expected" ]
}

says() {
	expected=$1
	shift
	"$@" >"$work/said" 2>&1
	cat "$work/said"
	grep -q -e "$expected" "$work/said"
}

override() {
	as root "dpkg-statoverride --list $PROGRAM >/dev/null && dpkg-statoverride --remove $PROGRAM
		dpkg-statoverride --update --add $* $PROGRAM"
}

reinstall() {
	apt install --reinstall "$(deb perf-agent)"
}

prepare() {
	make_debian "$work" "$root" && take_over_network "$root" && mount_debian "$root" && mkdir "$root$debs" &&
		cp build-deb/*.deb "$root$debs" && cp examples/library/capture.c "$root/tmp/" &&
		as root "useradd --create-home alice && useradd --create-home nobody_else" &&
		dpkg-deb --fsys-tarfile "build-deb/perf-agent_$version-1_$arch.deb" | tar -xO ./usr/bin/perf-agent >"$root/tmp/copy" &&
		chmod 755 "$root/tmp/copy" && apt update
}

installs() {
	apt install "$(deb perf-agent)" && as root adduser --quiet alice perf-agent
}

check_install() {
	check "install: apt installs perf-agent, and adduser makes a user a member of its group" installs
	check "install: the program belongs to the group, and nobody else may run it" has_owner root:perf-agent 750
	check "install: the program has the file capabilities that doctor asks for" has_capabilities
	check "install: a member of the group sees the version" says "^perf-agent $version" as alice perf-agent --version
	check "install: another user may not run the program" fails_with 126 as nobody_else $PROGRAM --version
}

# a program that root runs, so that the capabilities are needed
capture_of_root() {
	as root 'while :; do :; done' &
	target=$!
	sleep 1
	pid=$(pgrep -P "$target" -f 'while :' || echo "$target")
	as alice perf-agent -d 2s -F 199 -o all.pb.gz -p "$pid"
	status=$?
	kill "$pid" "$target"
	wait "$target" 2>/dev/null
	return $status
}

check_use() {
	check "use: doctor finds nothing failed for a member of the group" as alice perf-agent doctor
	sed 's/^/# /' "$out"
	check "use: a member of the group profiles a process of root" capture_of_root
	sed 's/^/# /' "$out"
	check "use: the profile can be read" says '100.0%' as alice perf-agent report all.pb.gz
}

check_again() {
	check "again: an installation over the same version succeeds" reinstall
	check "again: the program has its owner and mode" has_owner root:perf-agent 750
	check "again: the program has its file capabilities" has_capabilities
	check "again: the administrator chooses another group" override root users 0750
	check "again: an installation after that succeeds" reinstall
	check "again: the administrator's owner and mode are kept" has_owner root:users 750
	check "again: the program has file capabilities with the administrator's group" has_capabilities
	check "again: the administrator lets everyone run the program" override root root 0755
	check "again: what everyone may run gets no file capabilities, and this is reported" \
		says 'gets no file capabilities' reinstall
	check "again: a program that everyone may run has no file capabilities" has_no_capabilities
	check "again: the override can be removed" as root dpkg-statoverride --remove $PROGRAM
	check "again: setcap's failure is reported, and the installation goes on" \
		says 'no file capabilities on .*, root alone can profile' \
		as root "setpriv --bounding-set -setfcap --inh-caps -setfcap dpkg-reconfigure perf-agent"
	check "again: dpkg-reconfigure sets the file capabilities" as root dpkg-reconfigure perf-agent
	check "again: the program has the file capabilities that dpkg-reconfigure set" has_capabilities
}

# shellcheck disable=SC2016 # expanded in the root
builds_against_library() {
	apt install "$(deb libperfagent0 libperfagent-dev)" gcc libc6-dev pkg-config &&
		as alice 'gcc -Wall -Werror /tmp/capture.c $(pkg-config --cflags --libs perfagent) -o capture'
}

check_library() {
	check "library: a C program is built with libperfagent-dev by pkg-config" builds_against_library
	check "library: the C program takes a profile" \
		says ' samples$' as root 'sh -c "while :; do :; done" & /home/alice/capture $! 1; kill $!'
}

left_behind() {
	find "$root" -xdev \( -name '*perf-agent*' -o -name '*perfagent*' \) ! -path "$root/home/*" ! -path "$root/tmp/*"
	as root "getent group perf-agent"
}

leaves_nothing() {
	[ -z "$(left_behind)" ] || {
		left_behind
		return 1
	}
}

purge() {
	apt purge perf-agent libperfagent-dev libperfagent0
}

check_purge() {
	as root "mkdir -p /var/cache/perf-agent && : >/var/cache/perf-agent/file"
	override root perf-agent 0750 >/dev/null
	check "purge: the packages can be purged while an override is there" purge
	check "purge: the packages leave nothing behind" leaves_nothing
	check "purge: dpkg works afterwards" as root dpkg --audit
	check "purge: perf-agent can be installed again" reinstall
	as root "dpkg-statoverride --add root perf-agent 0750 /usr/local/bin/other"
	check "purge: a group that an override of another file names is kept, and this is reported" \
		says 'the group perf-agent stays' apt purge perf-agent
	check "purge: dpkg works with the override of the other file" reinstall
}

check "a new Debian 12 is made" prepare
[ "$failed" -eq 0 ] || finish_tap
check_install
check_use
check_again
check_library
check_purge
finish_tap
