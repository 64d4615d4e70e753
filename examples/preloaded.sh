#!/bin/sh
# preloaded - profiles of a program that knows nothing of them
#
#	./preloaded.sh [SONDE]
#
# SPDX-License-Identifier: Apache-2.0
set -eu
sonde=${1:-sonde}

"$sonde" run --addr localhost:8070 --heap-rate 65536 -- \
	python3 -c 'import time; kept = [str(i) * 100 for i in range(200000)]; time.sleep(5)' &
host=$!
trap 'kill $host' EXIT
sleep 2
"$sonde" -top -nodecount=10 http://localhost:8070/debug/pprof/heap
