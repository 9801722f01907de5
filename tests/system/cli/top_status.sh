#!/bin/sh
# SPDX-License-Identifier: MIT
# Prints an artificial reply of a daemon for the screens of kfdsched top: two nodes, six processes
# whose pids do not exist, one of them with a terminal sequence in its name.
counts() { # GPU QUEUES COMPUTE
	printf '{"gpu_id": %s, "queues": %s, "compute": %s}' "$1" "$2" "$3"
}
process() { # PID COMM PRIORITY ROLE LEVEL STATE ACTIVE SUSPENDS COUNTS
	cat <<END
{"pid": $1, "comm": "$2", "shim": true, "priority": $3, "role": "$4", "level": "$5", "state": "$6",
 "active": $7, "suspends": $8, "suspended_us": 1000, "queue_counts": [$9]}
END
}
empty='{"count": 0, "sum": 0, "max": 0, "buckets": []}'
cat <<END
{"daemon": {"pid": 900, "worker_pid": 901, "policy": "strict"},
 "nodes": [{"gpu_id": 19729, "work_us": 5, "urgent": true, "suspended": 2, "policy": "strict"},
           {"gpu_id": 29885, "work_us": 0, "urgent": false, "suspended": 0, "policy": "share"}],
 "processes": [
$(process 5000004 train 2 offline trap suspended true 7 "$(counts 19729 3 2)"),
$(process 5000001 serve 15 online trap running true 0 "$(counts 19729 1 1)"),
$(process 5000003 'evil\u001b[2J\u0007' null seen observe running false 0 ""),
$(process 5000002 tune 1 offline gate resuming false 3 "$(counts 29885 2 2)"),
$(process 5000006 '訓練' 3 offline self suspended true 1 "$(counts 19729 1 1)"),
{"pid": 5000005, "comm": "quiet"}],
 "totals": {"suspends": 11, "resumes": 9, "failures": 0, "suspend_ns": $empty, "detection_ns": $empty}}
END
