#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# roots.sh NAME...: makes root folders with newer ROCm runtimes and prints their
# paths, one a line. NAME: bookworm (ROCr and HIP 5.2.3), trixie (ROCr 6.1.2), sid
# (ROCr and HIP 6.4.3), experimental (ROCr and HIP 7.2.4).
#
# The packages come from the mirror that this machine's own apt uses, are
# resolved by apt against an empty system and only unpacked: nothing is
# installed, no script of theirs runs, and no privilege is needed. The folders
# stay in $KFDSHIM_ROOTS (default: ~/.cache/kfdshim/roots) and are made anew when
# this list changes.
set -eu

here=$(dirname "$0")
cache=${KFDSHIM_ROOTS:-${XDG_CACHE_HOME:-$HOME/.cache}/kfdshim/roots}
keyring=/usr/share/keyrings/debian-archive-keyring.gpg
# What our programs and the tests that run in there need besides the runtimes.
base="base-files dash bash coreutils libc6 grep sed jq python3 libjansson4 libinih1 libcmocka0 libmicrohttpd12 libseccomp2 libcap2 libncursesw6 libsmartcols1"

say() {
	echo "roots: $*" >&2
}

# For each root: suites, packages, and those that must come from the last suite.
describe() {
	pinned=""
	case $1 in
	bookworm)
		suites="bookworm"
		packages="$base libhsa-runtime64-1 rocminfo libamdhip64-5"
		;;
	trixie)
		suites="trixie"
		packages="$base libhsa-runtime64-1 rocminfo"
		;;
	sid)
		suites="sid"
		packages="$base libhsa-runtime64-1 rocminfo libamdhip64-6"
		;;
	experimental)
		suites="sid experimental"
		packages="$base libhsa-runtime64-1 rocminfo libamdhip64-7"
		pinned="libhsa-runtime64-1 libamdhip64-7 libamd-comgr3 libhiprtc*"
		;;
	*)
		say "there is no root '$1': bookworm, trixie, sid, experimental"
		exit 2
		;;
	esac
}

# shellcheck disable=SC2154 # set by describe
make_root() {
	local name=$1 dir=$cache/$1 apt=$cache/$1.apt log=$cache/$1.log uri n=0 all deb
	local -a options
	uri=$("$here/mirror.sh") || exit
	uri=$(awk '$1 !~ /security/ { print $1; exit }' <<<"$uri")
	rm -rf "$dir" "$dir.new" "$apt"
	mkdir -p "$apt/lists/partial" "$apt/archives/partial" "$dir.new"
	: >"$apt/status"
	for suite in $suites; do
		echo "deb [signed-by=$keyring] $uri $suite main"
	done >"$apt/sources.list"
	: >"$apt/preferences"
	for package in $pinned; do
		printf 'Package: %s\nPin: release a=%s\nPin-Priority: 990\n\n' "$package" "${suites##* }"
	done >>"$apt/preferences"
	options=(-o "Dir::State=$apt" -o "Dir::State::status=$apt/status" -o "Dir::State::lists=$apt/lists"
		-o "Dir::Cache=$apt" -o "Dir::Cache::archives=$apt/archives"
		-o "Dir::Etc::sourcelist=$apt/sources.list" -o Dir::Etc::sourceparts=/dev/null
		-o "Dir::Etc::preferences=$apt/preferences" -o Dir::Etc::preferencesparts=/dev/null
		-o APT::Install-Recommends=false -o "APT::Sandbox::User=$(id -un)" -o Debug::NoLocking=1)
	say "$name: fetching"
	# shellcheck disable=SC2086 # a list of packages
	if ! { apt-get "${options[@]}" update &&
		apt-get "${options[@]}" -y --download-only install $packages; } >"$log" 2>&1; then
		tail -n 12 "$log" >&2
		say "$name: apt-get failed (above; all of it in $log)"
		exit 1
	fi
	all=$(find "$apt/archives" -name '*.deb' | wc -l)
	for deb in "$apt"/archives/*.deb; do
		n=$((n + 1))
		[ -t 2 ] && printf '\rroots: %s: unpacking %d of %d ' "$name" "$n" "$all" >&2
		dpkg-deb -x "$deb" "$dir.new"
	done
	[ -t 2 ] && echo >&2
	for deb in "$apt"/archives/*.deb; do
		# shellcheck disable=SC2016 # dpkg-deb's own variables
		dpkg-deb --show --showformat '${Package} ${Version}\n' "$deb"
	done >"$dir.new/.packages"
	rm -rf "$apt"
	mv "$dir.new" "$dir"
	# Last: a root without it is not complete.
	echo "$suites: $packages, $pinned" >"$dir/.made_of"
}

[ $# -gt 0 ] || {
	say "roots.sh bookworm|trixie|sid|experimental [...]"
	exit 2
}
for name in "$@"; do
	describe "$name"
	if [ "$(cat "$cache/$name/.made_of" 2>/dev/null)" != "$suites: $packages, $pinned" ]; then
		make_root "$name" >&2
	fi
	echo "$cache/$name"
done
