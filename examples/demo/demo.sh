#!/bin/sh
# demo.sh - starts the demo, and finds its three faults with sonde
#
#	examples/demo/demo.sh SONDE DEMO	what "make run" runs
#
# On a terminal it stays until Ctrl-C, with an address to try; otherwise it ends by itself.
#
# SPDX-License-Identifier: Apache-2.0
set -eu
sonde=$1
demo=$2
seconds=${DEMO_SECONDS:-3}
folder=$(mktemp -d)
log=$folder/log
pid=

finish()
{
	trap - EXIT INT TERM HUP
	[ -z "$pid" ] || kill "$pid" 2>/dev/null || :
	[ -z "$pid" ] || wait "$pid" 2>/dev/null || :
	rm -rf "$folder"
	exit "$1"
}
trap 'finish $?' EXIT
trap 'echo; echo "The demo has ended."; finish 0' INT TERM HUP

if [ -t 1 ]; then
	bold=$(printf '\033[1m') plain=$(printf '\033[0m')
else
	bold= plain=
fi

title()
{
	printf '\n%s%s%s\n' "$bold" "$1" "$plain"
}

# ask QUESTION PROFILE: the answer is the function on top; then the first rows.
ask()
{
	PPROF_TMPDIR=$folder "$sonde" -top -nodecount=4 "$url/debug/pprof/$2" \
		>"$folder/all" 2>"$folder/errors" || { cat "$folder/errors" >&2; exit 1; }
	sed -n '/^ *flat  /,$p' "$folder/all" >"$folder/table"
	title "$1 $(awk 'NR == 2 { print $6 }' "$folder/table")()"
	printf '\n    $ %s -top %s\n' "$sonde" "'$url/debug/pprof/$2'"
	sed 's/^/    /' "$folder/table"
}

"$sonde" run --addr localhost:0 --log "$log" -- "$demo" &
pid=$!
url=
while [ -z "$url" ]; do
	kill -0 "$pid" 2>/dev/null || { echo "the demo did not start" >&2; exit 1; }
	sleep 0.1
	url=$(sed -n 's|.*serving \(http://127[^/]*\)/.*|\1|p' "$log" 2>/dev/null | head -n1)
done

cat <<END
examples/demo/demo.c runs, as process $pid, and knows nothing of profiles. It leaks memory, burns time
and fights over a lock. Three questions from outside, $seconds seconds each:
END
sleep "$seconds"
ask "Who keeps memory?" heap
ask "Who uses the CPU?" "profile?seconds=$seconds"
ask "Who lets others wait for a lock?" "mutex?seconds=$seconds&rate=1"

stay=
[ ! -t 0 ] || [ ! -t 1 ] || stay=yes
title "Where to look next"
[ "$stay" ] || printf '\nOn a terminal the service goes on, and you can try:\n'
cat <<END

    $sonde $url
        the shell, after 30 seconds of CPU time: top, list, peek, png ...
    $sonde -list remember_session $url/debug/pprof/heap
        which line of the source it is
    $sonde -flamegraph $url/debug/pprof/allocs > allocs.svg
        a picture for the browser
    curl '$url/debug/pprof/goroutine?debug=2'
        what every thread is doing
    $sonde run -- PROGRAM
        the same for a program of yours; README.md, examples/README.md and man sonde have more
END
if [ "$stay" ]; then
	title "The service goes on at $url/debug/pprof/ until Ctrl-C."
	wait "$pid"
fi
