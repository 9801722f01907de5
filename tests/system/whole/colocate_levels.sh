#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Proves: in the arms self, gate and peers each client has the level in the name, and offline work is
# held: by suspends of the simulated driver at level self, with a daemon and without one, and without
# suspends at level gate.
set -eu
# shellcheck source=tests/lib/whole_colocate.inc.sh
. "$SOURCE/tests/lib/whole_colocate.inc.sh"

ARMS=self,gate,peers SEEDS=1 colocate 0.5 >"$work/out" 2>"$work/err" || fail "$(cat "$work/err")"
! grep "cannot be scheduled" "$work/err" || fail "a client is not at the level of its arm"
schema colocate "$report"

check "self: each client is at that level" '.arms.self.level == "self"'
check "self: the daemon held offline" '.arms.self.suspends > 20 and .arms.self.online.keeps_up'
check "self: the driver suspended it" '.arms.self.time_percent | .bounces > 2 and .save_restore > 0.5'

# A whole step of the training is in the ring when a request comes, so the gate seldom holds it.
check "gate: each client is at that level" '.arms.gate.level == "gate"'
check "gate: the daemon held offline" '.arms.gate.suspends > 2'
check "gate: the driver suspended nothing" '.arms.gate.time_percent | .bounces == 0 and .save_restore == 0'
check "gate: what cannot be known is null" '.arms.gate.time_percent | .offline_ran > 50 and
	all(.detection, .hold_over, .idle_held, .own_gaps; . == null)'

check "peers: no daemon counts" '.arms.peers | all(.level, .suspends, .resumes, .delays_us.suspend; . == null)'
check "peers: what cannot be known is null" '.arms.peers.time_percent | all(.detection, .hold_over; . == null)'
check "peers: the driver suspended offline" '.arms.peers.online.keeps_up and
	(.arms.peers.time_percent | .bounces > 2 and .save_restore > 0.5)'
grep -q '^peers .* -$' "$work/out" || fail "the row of peers: $(cat "$work/out")"
