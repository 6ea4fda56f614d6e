# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# A new Debian 12 in a directory, its packages from where this machine gets its own; this machine's configuration is
# only read. Sourced after scripts/lib.sh. Needs root and mmdebstrap.

apt_sources() {
	for file in /etc/apt/sources.list /etc/apt/sources.list.d/*.list; do
		[ ! -f "$file" ] || grep -E '^deb ' "$file" || true
	done
}

# make_debian WORK ROOT MMDEBSTRAP_OPTION…: apt's configuration goes through files in WORK.
make_debian() {
	work=$1
	root=$2
	shift 2
	apt_sources >"$work/one-line.list"
	for file in /etc/apt/apt.conf /etc/apt/apt.conf.d/*; do
		# what runs programs of this machine stays here
		if [ -f "$file" ] && ! grep -qE 'Invoke|Pre-Install-Pkgs' "$file"; then
			cat "$file" >>"$work/apt.conf"
		fi
	done
	touch "$work/apt.conf"
	set -- --quiet --mode=root --variant=minbase --aptopt="$work/apt.conf" "$@" bookworm "$root"
	sources=
	for file in "$work"/one-line.list /etc/apt/sources.list.d/*.sources; do
		if [ -s "$file" ]; then
			set -- "$@" "$file"
			sources=yes
		fi
	done
	[ -n "$sources" ] || die "this machine has no apt sources to take packages from"
	mmdebstrap "$@"
}

# take_over_network ROOT: what it takes to reach the mirror: name service, passwords, pins, certificates.
take_over_network() {
	root=$1
	cp -L /etc/resolv.conf /etc/hosts "$root/etc/"
	for dir in /etc/apt/auth.conf.d /etc/apt/preferences.d /etc/apt/keyrings /etc/apt/trusted.gpg.d \
		/usr/share/keyrings /usr/local/share/ca-certificates; do
		[ -d "$dir" ] || continue
		mkdir -p "$root$dir"
		cp -RL "$dir/." "$root$dir/"
	done
	[ ! -f /etc/apt/auth.conf ] || cp /etc/apt/auth.conf "$root/etc/apt/"
	if [ -f /etc/ssl/certs/ca-certificates.crt ]; then
		mkdir -p "$root/etc/ssl/certs"
		cp -L /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/"
	fi
}

# mount_debian ROOT: to be called in a mount namespace of its own, which takes all of it down.
mount_debian() {
	root=$1
	# a root that is a mount of its own, as a real one is: else nothing in it can unshare mounts
	mount --bind "$root" "$root"
	mount -t proc proc "$root/proc"
	mount --rbind /sys "$root/sys"
	mount --rbind /dev "$root/dev"
	mount -t tmpfs -o mode=1777 tmpfs "$root/tmp"
}

# in_debian ROOT USER HOME COMMAND: with the environment of a new login, but for the way to the network
in_debian() {
	chroot "$1" /usr/bin/env -i HOME="$3" USER="$2" TERM=dumb LANG=C.UTF-8 \
		PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin PERFAGENT_IN_BARE=1 \
		${http_proxy:+http_proxy="$http_proxy"} ${https_proxy:+https_proxy="$https_proxy"} \
		${no_proxy:+no_proxy="$no_proxy"} \
		setpriv --reuid "$2" --regid "$2" --init-groups sh -c "$4" </dev/null
}
