#!/bin/sh
# SPDX-License-Identifier: MIT
# The demo: resnet50 inference beside GPT-2 training on one simulated MI210.
# The GPU runs 12.5 times slower than real time (slower still on a busy machine) so
# that two CPU cores are enough to serve it; every figure is told in the GPU's own
# (model) time.
set -eu
cd "$(dirname "$0")/.."

seconds=${DEMO_SECONDS:-45}
mkdir -p build/demo
echo "demo: measuring how promptly this machine serves a software GPU"
for scale in $(packaging/time_scale.sh 0.08 0.05 0.02 0.01 0.005); do
	echo "demo: time scale $scale"
	status=0
	build/kfdsim --gpu mi210 --time-scale "$scale" --report build/demo/kfdsim.json -- \
		build/kfdsched colocate \
		--online traces/online_resnet50_b1.csv \
		--offline traces/offline_gpt2m_train_8x1024.csv \
		--arms alone,shared,trap --load 0.2 --seconds "$seconds" \
		--json build/demo/report.json --svg build/demo/report.svg || status=$?
	if [ "$status" = 0 ] || [ "$(jq .valid build/demo/report.json)" != false ]; then
		break
	fi
	echo "demo: the machine has become busier: once more, with a slower GPU"
done
[ "$status" = 0 ] || exit "$status"
echo "demo: wrote build/demo/report.json and build/demo/report.svg"
