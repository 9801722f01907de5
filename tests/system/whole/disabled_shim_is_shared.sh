#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Proves, as a negative control: with KFDSHIM_DISABLE=1 the trap arm has the results of the shared arm.
set -eu
# shellcheck source=tests/lib/whole_colocate.inc.sh
. "$SOURCE/tests/lib/whole_colocate.inc.sh"

export KFDSHIM_DISABLE=1 ARMS=shared,trap
colocate 2
check "no suspends" '.arms.trap.suspends == 0 and .arms.trap.resumes == 0'
check "keeps up as shared does" '.arms.trap.online.keeps_up == .arms.shared.online.keeps_up'
check "offline steps within 10 % of shared" \
	'(.arms.trap.offline.steps / .arms.shared.offline.steps) as $r | $r > 0.9 and $r < 1.1'
