#!/bin/sh
# SPDX-License-Identifier: MIT
# Runs kfdsched colocate with resnet50 inference beside GPT-2 training on one simulated MI210.
# If the machine was too busy, the run is not valid (.valid is false), and is repeated with the next
# slower GPU.
# Usage: colocate.sh "SCALE..." SECONDS REPORT.json [KFDSIM-OPTION...]
# ARMS in the environment replaces the arms alone,shared,trap. The SVG goes beside the report.
# Exit status: colocate's.
set -eu
source=$(cd "$(dirname "$0")/.." && pwd)
build=${BUILD:-$source/build}
scales=$1 seconds=$2 report=$3
shift 3

status=2
for scale in $scales; do
	echo "colocate: time scale $scale"
	status=0
	"$build/kfdsim" --gpu mi210 --time-scale "$scale" "$@" -- "$build/kfdsched" colocate \
		--online "$source/traces/online_resnet50_b1.csv" \
		--offline "$source/traces/offline_gpt2m_train_8x1024.csv" \
		--arms "${ARMS:-alone,shared,trap}" --load 0.2 --seconds "$seconds" \
		--json "$report" --svg "${report%.json}.svg" || status=$?
	if [ "$status" = 0 ] || [ "$(jq .valid "$report")" != false ]; then
		break
	fi
	echo "colocate: the machine has become busier: once more, with a slower GPU"
done
exit "$status"
