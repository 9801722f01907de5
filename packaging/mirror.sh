#!/bin/sh
# SPDX-License-Identifier: MIT
# Prints the Debian archives among this machine's apt sources, one a line: URI CODENAME, as
# "http://deb.debian.org/debian/ bookworm-updates". Installs nothing and changes nothing.
# Exit status 77: apt has no Debian archive here.
set -eu

archives() {
	# shellcheck disable=SC2016 # apt's own variables
	apt-get "$@" indextargets --format '$(ORIGIN) $(REPO_URI) $(CODENAME)' 'Created-By: Packages' \
		'Component: main' | awk '$1 == "Debian" { print $2, $3 }'
}

found=$(archives)
if [ -z "$found" ]; then
	# apt-get update has not run here. Read the lists into a folder of our own.
	lists=$(mktemp -d)
	trap 'rm -rf "$lists"' EXIT
	mkdir "$lists/partial"
	apt-get -o "Dir::State::lists=$lists" -o "APT::Sandbox::User=$(id -un)" update >/dev/null 2>&1 || true
	found=$(archives -o "Dir::State::lists=$lists")
fi
[ -n "$found" ] || {
	echo "mirror: apt on this machine has no Debian archive among its sources" >&2
	exit 77
}
echo "$found"
