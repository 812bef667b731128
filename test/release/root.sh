#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
#   test/release/root.sh SUITE COMMAND...
#
# Runs a command in a bare system: makes a minimal root of a release (bookworm, trixie, noble, …) with debootstrap and git, puts
# a clone of this repository's HEAD there as /dlx, and runs the command in that folder, so that a package which only this
# machine has cannot help. The exit status is the command's; 77 if a root cannot be made here, and why is said in one line.
#
# The command has mounts and processes of its own: /proc, /sys, a /dev with a few devices, no file of this machine. They end with
# it, however it ends, so that removing a root can reach nothing else.
#
# Roots are kept in DLX_ROOTS (/var/tmp/dlx-roots) with what the command installed there, one a release, and made anew when
# `bootstrap` or this script changes. Packages come from where this machine has them (its apt's sources and settings), or from
# DLX_MIRROR, which a release of another distribution needs. DLX_ROOT_KEEP=no begins with a new root.
set -eu
cd "$(dirname "$0")/../.."

[ $# -ge 2 ] || {
	sed -n '4,15s/^# \{0,1\}//p' "$0"
	exit 64
}
suite=$1
shift
roots=${DLX_ROOTS:-/var/tmp/dlx-roots}
made_by=$(cat bootstrap test/release/root.sh | sha256sum | cut -c1-12)
root=$roots/$suite-$made_by

cannot() {
	echo "root.sh: no root of $suite here: $*"
	exit 77
}

# Where apt has the main component of this machine's distribution from; empty if that cannot be said.
mirror_of() {
	apt-get indextargets --format '$(LABEL)|$(COMPONENT)|$(REPO_URI)' 'Created-By: Packages' 2>/dev/null |
		awk -F'|' -v label="$1" '$1 == label && $2 == "main" { print $3; exit }'
}

# The sources of a root: a release, and its updates where the mirror has them.
write_sources() {
	case $suite in
	bookworm | trixie)
		printf 'deb %s %s main\n' "$mirror" "$suite" "$mirror" "$suite-updates"
		security=$(mirror_of Debian-Security)
		[ -n "${DLX_MIRROR:-}" ] || [ -z "$security" ] || printf 'deb %s %s-security main\n' "$security" "$suite"
		;;
	*) printf 'deb %s %s main universe\n' "$mirror" "$suite" "$mirror" "$suite-updates" ;;
	esac
}

# What a root shares with this machine: how packages and names are found.
write_settings() {
	write_sources >"$1/etc/apt/sources.list"
	apt-config dump | grep -E '^Acquire::(http|https|ftp|Retries)' >"$1/etc/apt/apt.conf.d/90machine" || true
	echo force-unsafe-io >"$1/etc/dpkg/dpkg.cfg.d/scratch"
	cp -L /etc/resolv.conf "$1/etc/resolv.conf"
	printf '127.0.0.1 localhost %s\n' "$(hostname)" >"$1/etc/hosts"
	hostname >"$1/etc/hostname"
}

# apart COMMAND...: with mounts and processes of its own, which end with this script however it ends. unshare does not end by
# a signal while its child runs; its child, the first of its processes, ends with it.
apart() {
	setpriv --pdeathsig KILL unshare --mount --pid --fork --kill-child "$@" <&0 &
	trap 'kill -KILL $!; exit 143' TERM INT HUP
	wait $!
}

make_root() {
	# One at a time: of two scripts that install at once apt fails one. Others on this machine may install too: apt-get waits for
	# dpkg's lock then, and not for that of the lists of packages, which may be good enough as they are.
	flock "$roots" sh -c 'command -v debootstrap ||
		{ apt-get update -qq; apt-get install -o DPkg::Lock::Timeout=600 -y -qq --no-install-recommends debootstrap; }' \
		>/dev/null 2>&1 || cannot "debootstrap is needed"
	mirror=${DLX_MIRROR:-$(mirror_of Debian)}
	[ -n "$mirror" ] || cannot "apt does not say where this machine has its packages from; give DLX_MIRROR"
	find "$roots" -mindepth 1 -maxdepth 1 -name "$suite-*" -exec rm -rf --one-file-system {} +
	echo "== a bare root of $suite: $root"
	apart sh -c 'mount --make-rprivate / && exec debootstrap --variant=minbase --include=git "$@"' sh "$suite" "$root.part" "$mirror" \
		>"$root.log" 2>&1 || {
		tail -n 3 "$root.log"
		cannot "debootstrap failed"
	}
	write_settings "$root.part"
	mv "$root.part" "$root"
}

# Runs in namespaces of its own: mounts are invisible outside, and it is gone when the last process is.
enter='
	set -eu
	root=$1
	shift
	mount --make-rprivate /
	mount -t proc proc "$root/proc"
	mount -t sysfs -o ro sysfs "$root/sys"
	mount -t tmpfs -o mode=755 tmpfs "$root/dev"
	mknod -m 666 "$root/dev/null" c 1 3
	mknod -m 666 "$root/dev/zero" c 1 5
	mknod -m 666 "$root/dev/full" c 1 7
	mknod -m 666 "$root/dev/random" c 1 8
	mknod -m 666 "$root/dev/urandom" c 1 9
	mknod -m 666 "$root/dev/tty" c 5 0
	ln -s /proc/self/fd "$root/dev/fd"
	ln -s fd/0 "$root/dev/stdin"
	ln -s fd/1 "$root/dev/stdout"
	ln -s fd/2 "$root/dev/stderr"
	mkdir -m 1777 "$root/dev/shm"
	mount -t tmpfs -o mode=1777 tmpfs "$root/dev/shm"
	mkdir "$root/dev/pts"
	mount -t devpts -o newinstance,ptmxmode=666 devpts "$root/dev/pts"
	ln -s pts/ptmx "$root/dev/ptmx"
	cd "$root"
	exec chroot "$root" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root TERM="${TERM:-dumb}" \
		DLX_TIER="${DLX_TIER:-check}" DLX_TEST_SCALE="${DLX_TEST_SCALE:-1}" sh -c "cd /dlx && exec \"\$@\"" sh "$@"
'

[ "$(id -u)" -eq 0 ] || cannot "root's rights are needed"
unshare --mount --pid --fork true 2>/dev/null || cannot "namespaces cannot be made (unshare of util-linux)"
mkdir -p "$roots" 2>/dev/null && touch "$roots/$suite.lock" || cannot "'$roots' cannot be written"

# One command at a time has a release's root; the lock is held until it ends.
exec 9>>"$roots/$suite.lock"
flock 9
[ "${DLX_ROOT_KEEP:-yes}" = yes ] || rm -rf --one-file-system "$root"
[ -d "$root" ] || make_root
rm -rf --one-file-system "$root/dlx"
git clone -q --no-hardlinks . "$root/dlx"
apart sh -c "$enter" sh "$root" "$@"
