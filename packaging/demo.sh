#!/bin/sh
# SPDX-License-Identifier: MIT
# The demo: resnet50 inference beside GPT-2 training on one simulated MI210.
# The GPU runs 12.5 times slower than real time (slower still on a busy machine) so
# that two CPU cores are enough to serve it; every figure is told in the GPU's own
# (model) time.
set -eu
cd "$(dirname "$0")/.."

# kfdsim and kfdschedd run with real-time priority if they may.
if ! chrt --fifo 1 true 2>/dev/null; then
	echo "demo: $(id -un) may not use real-time priority: if other programs are busy here, the software" \
		"GPU is served too late, and the result may be INVALID. In that case: sudo make demo"
fi
mkdir -p build/demo
echo "demo: measuring how promptly this machine serves a software GPU"
scales=$(packaging/time_scale.sh 0.08 0.05 0.02 0.01 0.005)
packaging/colocate.sh "$scales" "${DEMO_SECONDS:-45}" build/demo/report.json \
	--report build/demo/kfdsim.json
echo "demo: wrote build/demo/report.json and build/demo/report.svg"
