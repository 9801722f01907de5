# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# What the tests of metrics share: a free port of loopback, which the daemon of
# $work/patient.ini will listen at, and the scrapes. Needs daemon.inc.sh, in a world.

# No module but what it names: opening files is slow in a world.
metrics() {
	python3 -IS "$SOURCE/tests/system/daemon/metrics.py" "$@"
}
port=$(python3 -IS -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
# shellcheck disable=SC2154 # of the harness
printf '[metrics]\nlisten = 127.0.0.1:%s\n' "$port" >>"$work/patient.ini"

# scraped WHEN CONDITION...: the metrics fulfil the conditions (metrics.py), soon, and no counter is below the last scrape.
scraped() {
	local when=$1
	shift
	metrics until 20 "$port" "$work/text" "$@" || fail "$when"
}
