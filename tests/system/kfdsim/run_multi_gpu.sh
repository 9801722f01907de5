#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Proves: with several GPUs, every profile and both partition modes, the topology is consistent in
# itself and with the device files.
set -eu
# shellcheck source=tests/lib/harness.inc.sh
. "$SOURCE/tests/lib/harness.inc.sh"

cat >"$work/topology.py" <<'PY'
import glob, os, sys

gpus, partitions = int(sys.argv[1]), int(sys.argv[2])
top = "/sys/class/kfd/kfd/topology/nodes"


def read(path):
    with open(path) as f:
        return {k: int(v) for k, v in (line.split() for line in f if line.split()[0] != "sibling_map")}


nodes = sorted(int(n) for n in os.listdir(top))
assert nodes == list(range(gpus * partitions + 1)), nodes
ids, minors, places, uniques = set(), set(), set(), set()
for n in nodes:
    p = read(f"{top}/{n}/properties")
    for kind, count in (("caches", "caches_count"), ("io_links", "io_links_count"),
                        ("p2p_links", "p2p_links_count"), ("mem_banks", "mem_banks_count")):
        assert len(glob.glob(f"{top}/{n}/{kind}/*/properties")) == p[count], (n, kind)
    reached = set()
    for link in glob.glob(f"{top}/{n}/*_links/*/properties"):
        l = read(link)
        assert l["node_from"] == n and l["node_to"] in nodes and l["weight"] > 0
        assert l["node_to"] not in reached, "two links to one node"
        reached.add(l["node_to"])
    assert reached == set(nodes) - {n}, (n, reached)
    if n == 0:
        continue
    ids.add(int(open(f"{top}/{n}/gpu_id").read()))
    minor = p["drm_render_minor"]
    minors.add(minor)
    places.add(p["location_id"])
    uniques.add(p["unique_id"])
    assert p["hive_id"] and p["num_gws"] == 64
    assert p["capability"] >> 15 & 1 and p["capability"] >> 29 & 1
    assert os.access(f"/dev/dri/renderD{minor}", os.W_OK)
    dev = os.path.realpath(f"/sys/class/drm/renderD{minor}")
    assert open(f"{dev}/dev").read() == f"226:{minor}\n"
    assert os.path.realpath(f"/sys/dev/char/226:{minor}") == dev
    assert os.path.isdir(os.path.realpath(f"/sys/class/drm/card{n - 1}"))
    bdf = "0000:%02x:00.0" % (p["location_id"] >> 8 & 0xff)
    assert int(open(f"/sys/bus/pci/devices/{bdf}/device").read(), 16) == p["device_id"]
    assert p["location_id"] >> 28 == (n - 1) % partitions
    levels = [read(c)["level"] for c in glob.glob(f"{top}/{n}/caches/*/properties")]
    assert levels.count(1) > p["simd_count"] // 4 and levels.count(2) == 1
    mall = os.path.exists(f"/sys/bus/pci/devices/{bdf}/ip_discovery")
    assert mall == (p["gfx_target_version"] == 90402) == (levels.count(3) == 1)
    if mall:
        gc = f"/sys/bus/pci/devices/{bdf}/ip_discovery/die/0/GC/0"
        assert [open(f"{gc}/{f}").read() for f in ("major", "minor", "revision")] == ["9\n", "4\n", "3\n"]
assert len(ids) == len(minors) == len(places) == gpus * partitions and 0 not in ids
assert len(uniques) == gpus
print(p["simd_count"], p["num_xcc"], p["caches_count"], p["array_count"], p["num_sdma_engines"],
      p["num_sdma_xgmi_engines"], p["gfx_target_version"], p["debug_prop"])
PY

# check_topology PROFILE GPUS PARTITIONS NUMBERS: the topology of these GPUs has these numbers.
check_topology() {
	same "$1: $("$BUILD/kfdsim" --gpu "$1" --gpus "$2" -- python3 "$work/topology.py" "$2" "$3")" "$1: $4"
}
# The numbers are those of real machines (sim/profiles). kfdsim computes caches and engines by rules,
# which these numbers confirm.
check_topology mi210 1 1 '416 1 217 8 2 3 90010 470'
check_topology mi210 8 1 '416 1 217 8 2 3 90010 470'
check_topology mi100 2 1 '480 1 217 8 2 6 90008 1494'
check_topology mi300x 2 1 '1216 8 626 32 2 14 90402 1511'
check_topology mi300x-cpx 1 8 '152 1 80 4 2 0 90402 1511'
check_topology mi308x 8 1 '320 4 178 16 2 6 90402 1511'
check_topology mi308x-cpx 2 4 '80 1 46 4 2 0 90402 1511'
check_topology mi300x-cpx 8 8 '152 1 80 4 2 0 90402 1511'

# There are hives of four MI210: links within one are XGMI, and those between two go through the CPU.
links() {
	"$BUILD/kfdsim" --gpu "$1" --gpus 8 -- sh -c "
		cd /sys/class/kfd/kfd/topology/nodes/1
		grep -h '^type 11' io_links/*/properties | wc -l
		ls p2p_links | wc -l
		cat ../*/properties | grep hive_id | sort -u | wc -l" | tr '\n' ' '
}
same "$(links mi210)" '3 4 3 '
same "$(links mi300x)" '7 0 2 '

# The runtime finds all GPUs.
expect 0 "$BUILD/kfdsim" --gpus 8 -- rocminfo
same "$(grep -c '^  Name: *gfx90a' "$work/out")" 8
