# SPDX-License-Identifier: Apache-2.0
# Sourced by the examples' run scripts.
# shellcheck shell=sh
set -eu

agent=${PERF_AGENT:-perf-agent}
rounds=${EXAMPLE_ROUNDS:-5}
# The results stay in $EXAMPLE_DIR if it is given.
work=${EXAMPLE_DIR:-$(mktemp -d)}
[ -n "${EXAMPLE_DIR:-}" ] || trap 'rm -rf "$work"' EXIT

# lacks WHAT: ends the example, with the status that means "skipped".
lacks() {
	echo "this example needs $1" >&2
	exit 77
}

# need TOOL WHERE_FROM
need() {
	command -v "$1" >/dev/null || lacks "$1 ($2)"
}

# record OPTION...: a profile of a command, which has to work.
record() {
	"$agent" -q -F 999 "$@" || {
		echo "perf-agent failed" >&2
		exit 1
	}
}

# compare BEFORE AFTER [ARG...]: two programs that print their CPU time in seconds, run in turns, because a machine
# is not equally fast all the time. Prints the least of each, and what that is in percent.
compare() {
	before=$1 after=$2
	shift 2
	i=0
	while [ "$i" -lt "$rounds" ]; do
		echo "before $("$before" "$@" 2>/dev/null)"
		echo "after $("$after" "$@" 2>/dev/null)"
		i=$((i + 1))
	done >"$work/times"
	awk '
		NF != 2 { bad = 1 }
		!($1 in least) || $2 < least[$1] { least[$1] = $2 }
		END {
			if (bad || least["before"] <= 0 || least["after"] <= 0)
				exit 1
			printf "before %.3f s, after %.3f s of CPU time (best of %d): ", least["before"], least["after"], NR / 2
			change = 100 * (least["after"] / least["before"] - 1)
			if (change < -2)
				printf "%.0f %% less\n", -change
			else
				printf "no gain (%+.0f %%)\n", change
		}' "$work/times"
}
