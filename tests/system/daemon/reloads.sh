#!/bin/bash
# SPDX-License-Identifier: MIT
# Proves: SIGHUP puts another configuration into force while a process is suspended, without
# another worker and without an unnecessary resume. Its rules and policies take effect at once, to
# hold and to release. A configuration that is invalid or missing changes nothing, and the log names
# the line. A second worker has the configuration that is in force.
set -eu
# shellcheck source=tests/lib/daemon.inc.sh
. "$SOURCE/tests/lib/daemon.inc.sh"
as_root "$@"
in_a_world

ini=$work/c.ini
# config LINE...: the file has these lines from now on.
config() {
	printf '%s\n' '[scheduler]' 'slow_suspend = 10s' "$@" >"$ini.new"
	mv "$ini.new" "$ini"
}
# rereads TEXT: the daemon reads the file again, and the log then has one more line with TEXT.
rereads() {
	local before
	before=$(grep -cF "$1" "$work/log" || true)
	kill -HUP "$daemon"
	until_true 100 more_than "$before" "$1" || fail "the log does not say: $1"
}
more_than() {
	[ "$(grep -cF "$2" "$work/log" || true)" -gt "$1" ]
}
good() {
	config "$@"
	rereads "$ini: reloaded, in force"
}
# unchanged TEXT: the suspended process and the worker have not changed.
unchanged() {
	until_true 50 says ".processes[]|select(.pid == $offline)|.state == \"suspended\" and .suspends == 1" ||
		fail "$1: $(status | jq -c .processes)"
	until_true 50 says ".daemon.worker_pid == $worker" || fail "$1: another worker"
}
# bad TEXT: the daemon refuses the file with TEXT, and nothing has changed.
bad() {
	rereads "$1"
	unchanged "$1"
	grep -F "$1" "$work/log" | tail -n 1 | grep -q 'the old configuration stays in force$' || fail "$1: not logged"
}

config
daemon_options=(--config "$ini")
start_daemon
start_offline --seconds 600
start_online
suspend_offline
worker=$(worker)

config 'slow_suspnd = 5ms'
bad "$ini:3: unknown key slow_suspnd in [scheduler]; known keys are slow_suspend"
config '[rule a]' 'uid = 0' 'priority = online' '[node all]' 'policy = fair'
bad "$ini:7: policy = fair: must be strict, share, deadline, observe"
rm "$ini"
bad "$ini: No such file or directory"
mkdir "$ini"
bad "$ini: is a directory"
rmdir "$ini"
head -c 3000 "$BUILD/lane_client" >"$ini"
bad "$ini:1: has a byte"

good 'max_suspended = 20s' '[rule other]' 'uid = 4711' 'priority = online'
unchanged "a good file that does not concern it"
good 'max_holds_per_s = 50'
unchanged "a key of an earlier version"
grep -qF "$ini:3: max_holds_per_s is obsolete and ignored" "$work/log" || fail "the log does not name an obsolete key"
config 'slow_suspend_us = 11000000'
rereads "$ini: reloaded, in force"
until_true 50 says '.daemon.slow_suspend_us == 11000000' ||
	fail "the value has no effect"
unchanged "another figure"

# Rules: at the highest priority no process preempts it; it has its own settings; it has less than
# the other.
for _ in 1 2; do
	good '[rule up]' 'executable = /*/kfdreplay' 'priority = online'
	until_true 50 state_is "$offline" running || fail "held at the highest priority"
	until_true 50 says ".processes[]|select(.pid == $offline)|.rule == \"up\" and .priority == 15" ||
		fail "the wrong rule applies: $(status | jq -c .processes)"
	until_true 50 says ".processes[]|select(.pid == $online)|.rule == null" || fail "the other process has a rule"
	good '[rule down]' 'uid = 0' 'shim = yes' 'executable = /*/kfdreplay' 'priority = 1' 'group = job'
	until_true 50 state_is "$offline" suspended || fail "not held by its rule's priority"
	until_true 50 says ".processes[]|select(.pid == $offline)|.rule == \"down\" and .priority == 1 and
		.group == \"job\"" || fail "the wrong rule applies: $(status | jq -c .processes)"
done
# The process joins another gang while it is held.
before=$(status | jq ".processes[]|select(.pid == $offline).suspends")
good '[rule down]' 'executable = /*/kfdreplay' 'group = other'
until_true 50 says ".processes[]|select(.pid == $offline)|.group == \"other\" and .state == \"suspended\" and
	.suspends == $before" || fail "resumed because it joined another gang: $(status | jq -c .processes)"
good
until_true 50 says ".processes[]|select(.pid == $offline)|.rule == null and .priority == 2 and .group == \"\" and
	.state == \"suspended\" and .suspends == $before" || fail "not held in its own gang: $(status | jq -c .processes)"

# Nodes have policies.
good '[node all]' 'policy = observe'
until_true 50 state_is "$offline" running || fail "held by policy observe"
until_true 50 says '.nodes[0].policy == "observe"' || fail "policy: $(status | jq -c .nodes)"
good '[node all]' 'policy = observe' "[node $(gpu_id)]" 'policy = share' 'share = 1%'
until_true 50 state_is "$offline" suspended || fail "not held by policy share"
until_true 50 says '.nodes[0].policy == "share" and .nodes[0].share_percent == 1' ||
	fail "policy: $(status | jq -c .nodes)"

# When the worker is killed, the next one has the configuration in force, not that of the file.
config 'nonsense'
rereads "$ini:3: not \`key = value\`"
kill -KILL "$worker"
until_true 100 says ".daemon.worker_pid != $worker and .nodes[0].share_percent == 1" ||
	fail "another worker, another configuration: $(status | jq -c .nodes)"
send off
until_true 100 state_is "$offline" running || fail "not resumed"
end_offline
