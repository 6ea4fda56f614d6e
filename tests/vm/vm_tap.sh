# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh disable=SC2034
# For what runs in the virtual machine: checks, programs to be profiled, captures. At the end, the caller prints the plan
# and exits with $status.
nr=0
status=0

# check NAME COMMAND…
check() {
	name=$1
	shift
	nr=$((nr + 1))
	if "$@"; then
		echo "ok $nr - $name"
	else
		echo "not ok $nr - $name"
		status=1
	fi
}

note() {
	sed 's/^/# /' "$@"
}

# start PROGRAM…: its PID in $target once it has said "ready"
start() {
	: >/tmp/ready
	"$@" >/tmp/ready &
	target=$!
	for _ in $(seq 100); do
		grep -q ready /tmp/ready && return
		sleep 0.1
	done
	echo "# $1 does not get ready"
}

stop() {
	kill -KILL "$target"
	wait "$target" 2>/dev/null
}

# capture NAME OPTION…: a run that ends well and adds up
capture() {
	capture_by "perf-agent -v --folded-output /tmp/folded -o /tmp/profile" "$@"
}

# capture_by COMMAND NAME OPTION…
capture_by() {
	command=$1
	label=$2
	shift 2
	rm -f /tmp/folded
	$command "$@" >/tmp/report 2>&1
	code=$?
	echo "# perf-agent $*"
	note /tmp/report
	check "$label: status 0" test "$code" -eq 0
	check "$label: the ticks add up" adds_up
}

# ticks    994 due = 407 idle + 17 other + 0 outside + 391 samples + 179 lost
adds_up() {
	awk '$1 == "ticks" && $3 == "due" {
		for (i = 5; i <= NF; i += 3)
			sum += $i
		good = sum == $2 && sum > 0
	}
	END { exit !good }' /tmp/report
}

# stacks REGEX PERCENT: at least so many of the samples have such a stack
stacks() {
	awk -v regex="$1" -v percent="$2" '{
		n = $NF
		stack = substr($0, 1, length($0) - length(n) - 1)
		all += n
		if (stack ~ regex)
			good += n
		else if (shown++ < 5)
			print "# other: " $0
	}
	END { printf "# %d of %d samples\n", good, all; exit !(all >= 20 && good * 100 >= all * percent) }' \
		/tmp/folded
}

says() {
	grep -q -- "$1" /tmp/report
}

not_says() {
	! says "$1"
}
