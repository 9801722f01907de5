#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Proves (path.sh PATH BURSTS [KFDSIM OPTIONS]): work by this path reaches the daemon (paths.c). The
# program is $WORKLOAD_linked, which is linked with the HSA runtime, or $WORKLOAD, which has none
# ("raw") or gets one with a library that it opens.
set -eu
path=$1 bursts=$2
shift 2
way=$path library="" program=${WORKLOAD}_linked
case $path in
sdma) way=copy ;;
blit)
	way=copy
	export HSA_ENABLE_SDMA=0
	;;
raw) program=$WORKLOAD ;;
dlopened) way=store library=$WORK_LIBRARY program=$WORKLOAD ;;
thunk) library=$THUNK_LIBRARY program=$WORKLOAD ;;
intercepted)
	way=store
	export HSA_TOOLS_LIB=$PROFILER
	;;
esac
exec "$BUILD/kfdsim" "$@" ${root:+--root "$root"} -- "$PATHS" "$bursts" "$path" "$program" "$way" ${library:+"$library"}
