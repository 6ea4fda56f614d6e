#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What the command line accepts, what it says when it does not, and how it ends.
#
#   cli_rules.sh PERF_AGENT [PERF_AGENT_FAKE [DOCS]]
#
# The rules that need no kernel are tried on PERF_AGENT; the rest on PERF_AGENT_FAKE, the same
# program on a library whose behaviour the FAKE_* variables choose (tests/unit/fake_perfagent.c).
# DOCS is the folder of the manual, which must tell what the program knows.
set -u

# bail_out WHY: without these nothing below means anything.
bail_out() {
	echo "Bail out! $1"
	exit 99
}

[ -x "$1" ] || bail_out "no program '$1'"
agent=$(realpath "$1")
fake=${2:+$(realpath "$2")}
docs=${3:+$(realpath "$3")}
dir=$(mktemp -d) || bail_out "no temporary directory"
cd "$dir" || bail_out "no temporary directory"
trap 'rm -rf "$dir"' EXIT
unset SUDO_UID SUDO_GID DEBUGINFOD_URLS POD_NAME POD_NAMESPACE CONTAINER_NAME
nr=0
failed=0
# what -a means here
whole='all processes'
[ "$(stat -L -c %i /proc/self/ns/pid)" = 4026531836 ] || whole='the processes of this PID namespace'

# ok STATUS WHAT: one line of TAP; what the program printed is shown where it failed.
ok() {
	nr=$((nr + 1))
	if [ "$1" -eq 0 ]; then
		echo "ok $nr - $2"
	else
		failed=$((failed + 1))
		echo "not ok $nr - $2"
		sed 's/^/# stderr: /' err 2>/dev/null
	fi
}

# run_ok STATUS WHAT: the same of the last command of run(), which it names.
run_ok() {
	ok "$1" "$command: $2"
}

skip() {
	nr=$((nr + 1))
	echo "ok $nr - $1 # SKIP $2"
}

# run ARGUMENTS...: leaves out, err, $rc and $command behind.
run() {
	command="perf-agent $*"
	"$agent" "$@" >out 2>err </dev/null
	rc=$?
}

# usage PATTERN ARGUMENTS...: a usage error of one line that matches.
usage() {
	pattern=$1
	shift
	run "$@"
	[ "$rc" -eq 2 ]
	ok $? "usage ($rc): perf-agent $*"
	[ "$(wc -l <err)" -eq 1 ] && grep -q '^perf-agent: .*: .*; .*(see --help)$' err
	run_ok $? "one line on stderr: what, what is wrong, what to do"
	grep -Eq -- "$pattern" err
	run_ok $? "stderr has '$pattern'"
	[ ! -s out ]
	run_ok $? "nothing on stdout"
}

# status EXPECTED ARGUMENTS...: ends with this status.
status() {
	expected=$1
	shift
	run "$@"
	[ "$rc" -eq "$expected" ]
	ok $? "status $expected ($rc): perf-agent $*"
}

says() {
	grep -Eq -- "$1" err
	run_ok $? "stderr has '$1'"
}

says_not() {
	! grep -Eq -- "$1" err
	run_ok $? "stderr has no '$1'"
}

prints() {
	grep -Eq -- "$1" out
	run_ok $? "stdout has '$1'"
}

test_usage() {
	usage 'required' --profile
	usage 'required' --
	usage 'command is empty' -- ''
	usage 'command is empty' ''
	usage 'mutually exclusive' --profile --pid 1 -a
	usage 'mutually exclusive' --profile --pid 1 -- true
	usage 'mutually exclusive' --profile -a -- true
	usage '^perf-agent: --pid and --tid: mutually exclusive' --pid 1 --tid 1
	usage '^perf-agent: --pid and --user: mutually exclusive' --pid name --user 0
	usage '^perf-agent: --tid and -a/--all: mutually exclusive' -a --tid 1
	usage '^perf-agent: --user and --cgroup: mutually exclusive' --cgroup / --user 0
	usage "^perf-agent: --cgroup and COMMAND: mutually exclusive, and 'ls' is a command" --cgroup / ls
	usage "^perf-agent: --bogus: unknown" --bogus
	usage "^perf-agent: -x: unknown" -x
	usage "^perf-agent: -x: unknown" -qx
	usage "^perf-agent: --metrics-listen: 'localhost' does not end with a port .*; write it like 9797" \
		-a --metrics-listen localhost
	usage "^perf-agent: --metrics-listen: 'example.org:9797' names a host, and names are not looked up; write" \
		-a --metrics-listen=example.org:9797
	usage "^perf-agent: --metrics-listen: '::1:9797' has an IPv6 address without brackets; write" \
		-a --metrics-listen ::1:9797
	usage '^perf-agent: --inject-python: needs --profile; add it' -a --offcpu --inject-python
	for later in --offcpu-output=x --offcpu-states=disk --min-block=0; do
		usage "^perf-agent: ${later%=*}: has no meaning without --offcpu; add it" -a "$later"
	done
	usage "^perf-agent: --offcpu-states: 'nap' is not a state; give a list of sleep,disk" -a --offcpu --offcpu-states disk,nap
	usage "^perf-agent: --offcpu-states: '' is not a state" -a --offcpu --offcpu-states ,
	usage '^perf-agent: --profile-output: is for the on-CPU profile; add --profile' -a --offcpu -o x
	usage '^perf-agent: --sample-rate: has no meaning without --profile' -a --offcpu -F 9
	usage '^perf-agent: --event: has no meaning without --profile' -a --offcpu --event cycles
	usage '^perf-agent: --sort: has no meaning without --profile; waits are listed by' -a --offcpu --sort total
	usage "^perf-agent: --offcpu-output: 'x' is --profile-output already" -a --profile --offcpu -o x --offcpu-output x
	usage '^perf-agent: --profile: takes no value' --profile=yes
	usage '^perf-agent: --duration: a value is missing' --profile -a -d
	usage '^perf-agent: --duration: a value is missing' --profile -a --duration
	usage "^perf-agent: -a/--all and COMMAND: mutually exclusive, and 'ls' is a command" -a ls -l
	usage "^perf-agent: --pid and COMMAND: mutually exclusive, and 'ls' is a command" -p 1 ls
	usage '^perf-agent: -a/--all and COMMAND: .*; to profile for a time, write -d SECONDS instead' -F 99 -a -- sleep 5
	for word in report convert diff doctor; do
		usage "^perf-agent: $word: must be the first argument; write perf-agent $word " -v $word
	done
	for number in 1234 12,34; do
		usage "^perf-agent: $number: a number is not a command; write -p $number" $number
	done
}

# suggests ADVICE ARGUMENTS...: what the message suggests to type instead.
suggests() {
	advice=$1
	shift
	usage ": .*; $advice \\(see --help\\)$" "$@"
}

test_files() {
	usage '^perf-agent: report: a file is missing; write perf-agent report FILE' report
	usage '^perf-agent: b: one file too many; write perf-agent report FILE' report a b
	usage '^perf-agent: diff: two files are needed, one is missing' diff a
	usage '^perf-agent: diff: standard input can be read once; give two files' diff - -
	usage '^perf-agent: convert: an output is missing; write -o OUT.html' convert a
	usage "^perf-agent: -o: the suffix of 'b.txt' is not that of a format" convert a -o b.txt
	usage "^perf-agent: -o: the suffix of '-' is not that of a format" convert a -o -
	usage "^perf-agent: --format: 'svg' is unknown; give html, folded or json" convert a -o b --format svg
	usage "^perf-agent: --top: '0' is not a number of functions" report --top 0 a
	usage "^perf-agent: --top: '0' is not a number of functions" report a --top 0
	usage "^perf-agent: --fail-over: 'x' is not a percentage; .*as in --fail-over 5" diff a b --fail-over x
	usage '^perf-agent: -o: a difference is written as a page; write -o OUT.html' diff a b -o c.folded
	usage "^perf-agent: --by: '--top' looks like an option; write --by LABEL" report --by --top a
	usage "^perf-agent: --type: '--top' looks like an option; write --type T" diff --type --top a b
	usage "^perf-agent: --format: '-o' is unknown; give html, folded or json" convert a -o b --format -o
	usage "^perf-agent: --output: '--top' looks like an option; write ./--top if it is a file" convert a -o --top
	suggests 'did you mean --fail-over\?' diff --fail-ovr 1 a b
	for word in report convert diff; do
		status 0 $word --help
		prints "^usage: perf-agent $word "
	done
	status 1 report a
	says "^perf-agent: cannot read 'a'"
	status 1 report -- --top
	says "^perf-agent: cannot read '--top'"
}

test_suggestions() {
	suggests 'did you mean --profile\?' --profle
	suggests 'did you mean --profile\?' --proflie
	suggests 'did you mean --profile\?' --prof
	suggests 'did you mean --kernel-stacks\?' --kernel-stack
	suggests 'did you mean --kernel-stacks\?' --kernelstacks
	suggests 'did you mean --duration\?' --dur 1s
	suggests 'did you mean --duration\?' --dur=1s
	suggests 'did you mean --no-profile-output\?' --no-profil-output
	suggests 'did you mean --pid\?' --pids 1
	suggests 'did you mean --help\?' --hlep
	suggests 'did you mean --pid\?' doctor --pdi 1
	suggests 'check its spelling' --pf
	suggests 'check its spelling' "--$(seq -s x 99)"
	for flag in -g -ag --call-graph --call-graph=dwarf; do
		suggests 'stacks are always recorded, and --unwind chooses how' $flag
	done
	for flag in --freq --freq=99 --frequency -c --count -r --rate; do
		suggests 'write -F HZ, samples per second' $flag 99
	done
	for flag in -C --cpu; do
		suggests 'all CPUs are sampled; choose processes by -p' $flag 1
	done
	suggests 'write --event cpu-clock or --event cycles' -e cycles
	suggests 'write -o FILE' --output=x
	suggests 'write -a' --all-cpus
	suggests 'write --tid N' -t 1
	suggests 'write --user USER' -u root
	suggests 'write --user USER' --uid=0
	suggests 'write --cgroup PATH' -G x
	for flag in -i --no-inherit; do
		suggests 'write --no-follow-children' $flag -p 1
	done
	suggests 'leave it out, and give -p PID, -a or a COMMAND' record -p 1
	suggests 'leave it out, and give -p PID, -a or a COMMAND' -F 99 record ls
	suggests 'write --pmu, and leave it out' stat ls
	suggests '.*perf-agent -- top to run that program' top
	suggests 'write perf-agent report FILE, .*' annotate
	suggests '.*perf-agent -- script to run that program' script
	suggests '.*write --event cpu-clock or --event cycles' list
	suggests 'write perf-agent --version' version
	suggests 'write perf-agent --help' help
	for file in a.pb.gz ./b.pb; do
		suggests "write perf-agent report $file" "$file"
	done
}

test_bare_call() {
	status 2
	for line in '^usage: perf-agent' '^  perf-agent make -j8 ' '^  perf-agent -p 1234 -d 30s ' \
		'^  perf-agent -a --kernel-stacks ' '--help'; do
		says "$line"
	done
	[ ! -s out ]
	run_ok $? "nothing on stdout"
}

test_usage_values() {
	for bad in 0 1,0 99999999999 name,0; do
		usage '^perf-agent: --pid: .* is not a process ID' --profile --pid "$bad"
	done
	for bad in 0 -1 abc 1,x 0x10 99999999999 ' 1' +1; do
		usage '^perf-agent: --tid: .* is not a thread ID' --tid "$bad"
	done
	for bad in "," ",,"; do
		usage '^perf-agent: --pid: .* has nothing between its commas' --pid $bad
		usage '^perf-agent: --tid: .* has nothing between its commas' --tid $bad
	done
	usage '^perf-agent: --pid: more than 1024 processes; use --all' --pid "$(seq -s, 1025)"
	usage '^perf-agent: --tid: more than 1024 threads; use --all' --tid "$(seq -s, 1025)"
	usage '^perf-agent: --pid: too many names' --pid "$(seq -f 'x%g' -s, 65)"
	usage '^perf-agent: --pid: too many names' --pid "$(seq -f 'name-%g' -s '' 1000)"
	usage "^perf-agent: --pid: '--strict' looks like an option" --pid --strict
	usage "^perf-agent: --cgroup: '--strict' looks like an option" --cgroup --strict
	usage "^perf-agent: --user: no user 'no such user' in /etc/passwd; give a user ID" --user 'no such user'
	for bad in 4294967295 99999999999; do
		usage '^perf-agent: --user: .* is not a user ID' --user $bad
	done
	for empty in tid user cgroup; do
		usage "^perf-agent: --$empty: the value is empty" --$empty ''
	done
	usage '^perf-agent: --pid: the value is empty' --profile --pid ''
	for bad in abc 10x -5s 1m30 '10 s' 30s1m; do
		usage '^perf-agent: --duration: .* is not a duration' --profile -a -d "$bad"
	done
	usage '^perf-agent: --duration: .* too long' --profile -a -d 99999999999999999999s
	usage '^perf-agent: --duration: the value is empty' --profile -a -d ''
	for bad in 0 -1 abc 99.5 99Hz 1e3; do
		usage '^perf-agent: --sample-rate: .* is not a sample rate' --profile -a -F "$bad"
	done
	usage 'limit of [0-9]+; .*kernel.perf_event_max_sample_rate' --profile -a -F 999999999
	usage 'kernel.perf_event_max_sample_rate' --profile -a -F 99999999999999999999
	usage '^perf-agent: --event: .*cpu-clock or cycles' --profile -a --event instructions
	usage '^perf-agent: --unwind: .*fp, dwarf or auto' --profile -a --unwind lbr
	usage '^perf-agent: --tag: .*key=value' --profile -a --tag novalue
	usage '^perf-agent: --tag: .*key=value' --profile -a --tag =x
	usage '^perf-agent: --sort: .*self or total' -a --sort both
	for bad in 0 -1 x 1.5 10001 99999999999999999999; do
		usage '^perf-agent: --top: .* is not a number of functions; give 1 to 10000' -a --top "$bad"
	done
	for bad in -1 x % .5 1.2.3 5%% 0x5 1e1 nan 100.1 101; do
		usage '^perf-agent: --max-lost: .* is not a percentage; give 0 to 100' -a --max-lost "$bad"
	done
}

test_usage_outputs() {
	usage '^perf-agent: --profile-output: the value is empty' --profile -a -o ''
	usage '^perf-agent: --profile-output: .*looks like an option' --profile -a -o --strict
	usage "^perf-agent: --profile-output: 'a/x.html' would be a pprof file; write --flamegraph-output a/x.html " -a -o a/x.html
	usage "^perf-agent: --profile-output: 'x.folded' would be a pprof file; write --folded-output x.folded " -a -o x.folded
	usage "^perf-agent: --profile-output: 'perf.data' would be a pprof file; write --perf-data-output perf.data " -a -o perf.data
	usage "^perf-agent: --profile-output: 'x.json' would be a pprof file; write --json=x.json " -a -o x.json
	usage '^perf-agent: --folded-output: .*already' --profile -a -o x --folded-output x
	usage '^perf-agent: --perf-data-output: .*already' --profile -a --folded-output x --perf-data-output x
	usage "^perf-agent: --folded-output: './x' is --profile-output already" -a -o x --folded-output ./x
	usage "^perf-agent: --json: '/a/b' is --profile-output already" -a -o //a/.//b --json=/a/b
	usage "^perf-agent: --json: 'x' is where --pmu writes already" -a --pmu --pmu-output x --json=./x
	usage '^perf-agent: --perf-data-output: has no meaning without --profile' -a --offcpu --perf-data-output x
	usage '^perf-agent: --debuginfod-url: .*is not the URL of a server' --profile -a --debuginfod-url example.org
	usage '^perf-agent: --debuginfod-url: .*is not the URL of a server' --profile -a --debuginfod-url 'http://a http://b'
	for url in http:// https:///x http://:8002 http://user@ http://user:word@/x file:// file:/// file://host/x \
		http://a:65536 http://a:0 http://a:abc; do
		usage "^perf-agent: --debuginfod-url: '$url' is not the URL of a server" --profile -a --debuginfod-url "$url"
	done
	usage "^perf-agent: --debuginfod-url: '.*::1' is not the URL of a server.*IPv6" --profile -a --debuginfod-url 'http://[::1'
	usage '^perf-agent: --debuginfod-url: .*control character' --profile -a \
		--debuginfod-url "$(printf 'http://a\tb')"
	usage '^perf-agent: --debuginfod-url: the value is empty' --profile -a --debuginfod-url ''
	usage '^perf-agent: --symbol-cache-max: .*is not a size' --profile -a --debuginfod-url http://a \
		--symbol-cache-max 1X
	usage '^perf-agent: --symbol-cache-max: .*is not a size' --profile -a --debuginfod-url http://a \
		--symbol-cache-max 0
	usage '^perf-agent: --symbol-cache-max: .*is not a size' --profile -a --debuginfod-url http://a \
		--symbol-cache-max 9999999999T
	usage '^perf-agent: --symbol-fetch-timeout: .*is not a duration' --profile -a --debuginfod-url http://a \
		--symbol-fetch-timeout soon
	usage '^perf-agent: --symbol-fetch-timeout: must be greater than 0' --profile -a \
		--debuginfod-url http://a --symbol-fetch-timeout 0
	usage '^perf-agent: --symbol-fail-closed: .*without a server' --profile -a --symbol-fail-closed
	usage '^perf-agent: --symbol-cache-dir: .*without a server' --profile -a --symbol-cache-dir d
	usage '^perf-agent: --symbol-cache-max: .*without a server' --profile -a --symbol-cache-max 1G
	usage '^perf-agent: --symbol-fetch-timeout: .*without a server' --profile -a \
		--symbol-fetch-timeout 1s
	DEBUGINFOD_URLS='example.org' && export DEBUGINFOD_URLS
	usage '^perf-agent: DEBUGINFOD_URLS: .*is not the URL of a server' --profile -a
	DEBUGINFOD_URLS='http://a http://b:99999'
	usage '^perf-agent: DEBUGINFOD_URLS: .*:99999. is not the URL of a server.*port' --profile -a
	unset DEBUGINFOD_URLS
	usage '^perf-agent: --json: .*already' --profile -a -o - --json
	usage '^perf-agent: --json: .*already' --profile -a --folded-output s.json --json=s.json
	usage '^perf-agent: --json: the value is empty' --profile -a --json=
	usage '^perf-agent: --no-follow-children: .*-a/--all' --profile -a --no-follow-children
	usage '^perf-agent: --follow-children: .*-a/--all' --profile -a --follow-children
	usage '^perf-agent: --no-follow-children: .*--tid' --tid 1 --no-follow-children
	usage '^perf-agent: --no-follow-children: .*--user' --user 0 --no-follow-children
	usage '^perf-agent: --follow-children: .*--cgroup' --cgroup / --follow-children
	usage '^perf-agent: --pid: .*one process' doctor --pid 1,2
	usage '^perf-agent: --pid: .*one process' doctor --pid name
	usage '^perf-agent: doctor: takes no arguments' doctor what
	for option in --json --json=x -v --verbose -q --quiet; do
		usage "^perf-agent: $option: unknown option; doctor prints all it finds as text" doctor "$option"
	done
	printf '\033[31m' >esc
	usage "'\?\[31m' is a command" --profile -a "$(cat esc)"
}

test_usage_pmu() {
	usage '^perf-agent: --per-pid: only valid with --pmu' -a --per-pid
	usage '^perf-agent: --per-pid requires -a/--all' -p 1 --pmu --per-pid
	usage '^perf-agent: --pmu-output: only valid with --pmu' -a --pmu-output x
	usage '^perf-agent: --json: .*is where --pmu writes' -a --pmu --pmu-output x --json=x
	usage '^perf-agent: --json: .*is where --pmu writes' -a --pmu --pmu-output - --json
	usage '^perf-agent: --profile-output: .*is where --pmu writes' -a --pmu --profile -o -
	for flag in '-F 99' '--event cycles' '--unwind fp' --kernel-stacks --inject-python '-o x' '--folded-output x' '--perf-data-output x' '--tag a=b' \
		'--top 5' '--sort total' '--debuginfod-url http://a' '--symbol-cache-dir d' '--symbol-cache-max 1G' \
		'--symbol-fetch-timeout 1s' --symbol-fail-closed; do
		# shellcheck disable=SC2086 # a flag and its value are two words
		usage 'has no meaning without a profile; add --profile' -a --pmu $flag
	done
}

test_information() {
	for flag in '-?' -q? -h --help; do
		status 0 "$flag"
		prints '^usage: perf-agent'
		prints '^Examples:$'
		[ ! -s err ]
		run_ok $? "nothing on stderr"
	done
	for flag in --profile --pmu --per-pid --pmu-output --pid --tid --user --cgroup --all --duration --sample-rate --event --unwind --kernel-stacks --inject-python --json \
		--debuginfod-url --symbol-cache-dir --symbol-cache-max --symbol-fetch-timeout \
		--symbol-fail-closed --profile-output --no-profile-output --folded-output --perf-data-output --tag --sort --top --strict \
		--max-lost --follow-children --quiet --verbose --no-follow-children --version --help; do
		prints "$flag( |\[|$)"
	done
	[ -z "$(awk 'length > 80' out)" ]
	ok $? "help fits 80 columns"
	[ "$(grep -E '^[A-Z][a-z]+:$' out | tr -d '\n')" = Examples:Target:Sampling:Symbols:Output:Other: ]
	ok $? "help groups the options under five headings"
	status 0 doctor --help
	prints '^usage: perf-agent doctor'
	for flag in --version -V; do
		status 0 $flag
		grep -Eqx 'perf-agent [0-9]+\.[0-9]+\.[0-9]+' out
		run_ok $? "prints the version and nothing else"
	done
	if [ -w /dev/full ]; then
		"$agent" --help >/dev/full 2>err
		[ $? -eq 1 ] && grep -q 'cannot write to standard output' err
		ok $? "help that cannot be written is an error"
	fi
}

# given LINE: the fake was given this option by the run before.
given() {
	grep -Fqx -- "$1" options
	run_ok $? "gives the library $1"
}

given_not() {
	! grep -Fqx -- "$1" options
	run_ok $? "does not give the library $1"
}

# Options in an alias can be given again; scripts that join lists of PIDs leave commas and pairs.
test_repeated() {
	FAKE_OPTIONS=options
	export FAKE_OPTIONS
	status 0 -q -p $$
	given all=0
	given 'output=pprof:(null)'
	status 0 -q -a -d 1s -d 2s -F 100 -F 200 --event cycles --event cpu-clock --unwind fp --unwind dwarf \
		-o x -o y --folded-output f --folded-output g --tag a=1 --tag b=2 --tag a=3 --profile --profile
	for line in duration_ns=2000000000 sample_rate_hz=200 event=0 unwind=2 output=pprof:y output=folded:g \
		tag=a=3 tag=b=2; do
		given "$line"
	done
	given_not tag=a=1
	status 0 -q -a --debuginfod-url http://a --debuginfod-url http://b --symbol-cache-dir c \
		--symbol-cache-dir d --symbol-cache-max 1M --symbol-cache-max 2M --symbol-fetch-timeout 1s \
		--symbol-fetch-timeout 2s
	for line in url=http://a url=http://b cache_dir=d cache_max=2097152 fetch_timeout_ns=2000000000; do
		given "$line"
	done
	status 0 -q -p 1 -p 2,2,$$,2
	[ "$(grep ^pid= options | tr '\n' ' ')" = "pid=2 pid=$$ " ]
	run_ok $? "the last -p counts, and a PID given twice counts once"
	status 0 -q -p sleep,sleep,2,sleep
	[ "$(grep -E '^(pid|name)=' options | tr '\n' ' ')" = "pid=2 name=sleep " ]
	run_ok $? "a name given twice counts once"
	status 0 -p cat,sleep
	says '^perf-agent: profiling processes of 2 names for'
	status 0 -p sleep,2
	says '^perf-agent: profiling processes of 1 name and 1 PID for'
	status 0 -q -a --offcpu --offcpu-states ,sleep,,disk,
	for list in "2," ",2" ",,2,,2,"; do
		status 0 -q -p "$list"
		[ "$(grep ^pid= options)" = pid=2 ]
		run_ok $? "empty items of a list are ignored"
	done
	status 0 -q -p 2 --follow-children --no-follow-children
	given no_follow_children=1
	status 0 -q -p 2 --no-follow-children --follow-children
	given no_follow_children=0
	status 0 -q -a --no-profile-output -o x
	given output=pprof:x
	status 0 -q -a -o x --no-profile-output
	given nr_outputs=0
	status 0 -q -a -d 5s -d 0 -d 1s
	given duration_ns=1000000000
	DEBUGINFOD_URLS=' http://a' status 0 -q -a --pmu --pmu-output x
	unset FAKE_OPTIONS
	status 0 -q -v -a
	says 'samples'
	status 0 -v -q -a
	[ ! -s err ]
	run_ok $? "-q after -v is quiet"
	rm -f first.json
	status 0 -q -a --json=first.json --json
	prints '"schema"'
	[ ! -e first.json ]
	run_ok $? "the last --json, without a path, counts"
	status 0 -q -a --json --json=second.json
	[ ! -s out ] && [ -s second.json ]
	run_ok $? "the last --json, with a path, counts"
}

test_options_arrive() {
	FAKE_OPTIONS=options
	export FAKE_OPTIONS
	status 0 --profile --pid $$ -q
	for line in pid=$$ all=0 start_on_exec=0 no_follow_children=0 event=0 unwind=0 sample_rate_hz=99 \
		kernel_stacks=0 duration_ns=10000000000 'output=pprof:(null)' nr_outputs=1 \
		'auto_name=(null)' set_owner=0; do
		given "$line"
	done
	status 0 --profile -a -q -d 1m30s -F 199 --event cycles --unwind dwarf --kernel-stacks -o a.pb.gz \
		--folded-output a.folded --perf-data-output a.data --tag a=1 --tag b=x=y
	for line in all=1 event=1 unwind=2 sample_rate_hz=199 kernel_stacks=1 duration_ns=90000000000 \
		output=pprof:a.pb.gz output=folded:a.folded output=perf.data:a.data nr_outputs=3 tag=a=1 tag=b=x=y; do
		given "$line"
	done
	status 0 -q -p "1,redis-server,Web Content,$$,x"
	for line in pid=1 pid=$$ name=redis-server 'name=Web Content' name=x select_user=0 'cgroup=(null)'; do
		given "$line"
	done
	for name in abc -1 +1 ' 1' 0x10 1x "$(seq -s x 99)"; do
		status 0 -q -p "$name"
		given "name=$name"
	done
	status 0 -q -p a,b -p c
	[ "$(grep -E '^(name|pid)=' options)" = name=c ]
	run_ok $? "the last -p counts for names, too"
	status 0 -q --tid 5 --tid 7,,8,7
	[ "$(grep ^tid= options | tr '\n' ' ')" = "tid=7 tid=8 " ]
	run_ok $? "the last --tid counts, and a TID given twice counts once"
	status 0 -q --user 4294967294
	given select_user=1
	given user=4294967294
	status 0 -q --user 5 --user root
	given user=0
	status 0 -q --cgroup /a/b
	given cgroup=/a/b
	given select_user=0
	status 0 --profile -p 1,$$ --no-follow-children -qo b.pb.gz
	for line in pid=1 pid=$$ no_follow_children=1 output=pprof:b.pb.gz; do
		given "$line"
	done
	for top in 1 100 250; do
		status 0 -q -a --top $top
		given max_functions=$((top > 100 ? top : 100))
	done
	for zero in 0 0s 0ms; do
		status 0 -q -d $zero -- /bin/true
		given duration_ns=0
	done
	status 0 -q -a --no-profile-output
	given nr_outputs=0
	status 0 -q -a --no-profile-output --folded-output a.folded
	given nr_outputs=1
	given modes=1
	status 0 -q -p $$ --pmu
	for line in modes=4 per_process=0 nr_outputs=1 output=pmu:-; do
		given "$line"
	done
	status 0 -q -a --pmu --per-pid --profile --pmu-output auto
	for line in modes=5 per_process=1 nr_outputs=2 'output=pmu:(null)'; do
		given "$line"
	done
	status 0 -q -a --pmu --json
	given nr_outputs=0
	status 0 -q -a --no-profile-output --folded-output a.folded
	given output=folded:a.folded
	status 0 -q -- /bin/true
	for line in start_on_exec=1 duration_ns=0 auto_name=true all=0; do
		given "$line"
	done
	status 0 -q -d 250ms -- /bin/true --profile -x
	given duration_ns=250000000
	given cache_max=0
	status 0 -q --debuginfod-url 'http://user:word@[::1]:8002/x' -- /bin/true
	given 'url=http://user:word@[::1]:8002/x'
	status 0 -q --debuginfod-url http://a --debuginfod-url https://b --symbol-cache-dir d \
		--symbol-cache-max 3M --symbol-fetch-timeout 5s --symbol-fail-closed -- /bin/true
	for line in url=http://a url=https://b cache_dir=d cache_max=3145728 \
		fetch_timeout_ns=5000000000 fail_closed=1; do
		given "$line"
	done
	DEBUGINFOD_URLS='ima:enforcing http://c  file:///d ' status 0 -q -- /bin/true
	given url=http://c
	given url=file:///d
	DEBUGINFOD_URLS='http://c' status 0 -q --debuginfod-url http://a -- /bin/true
	given url=http://a
	! grep -q url=http://c options
	run_ok $? "--debuginfod-url replaces DEBUGINFOD_URLS"
	POD_NAME=web-0 POD_NAMESPACE=shop CONTAINER_NAME=agent status 0 -q -- /bin/true
	given pod=shop/web-0/agent
	given kallsyms_only=0
	PERFAGENT_FORCE_KERNEL_FALLBACK=1 status 0 -q -- /bin/true
	given kallsyms_only=1
	status 0 -q -- /bin/true
	! grep -q ^url= options
	run_ok $? "without --debuginfod-url and DEBUGINFOD_URLS there is no server"
	unset FAKE_OPTIONS
}

test_owner() {
	if [ "$(id -u)" -ne 0 ]; then
		skip "files belong to the user who called sudo" "needs root"
		return
	fi
	command='perf-agent under sudo'
	FAKE_OPTIONS=options SUDO_UID=1234 SUDO_GID=567 "$agent" -q --json=owned.json -- true 2>err
	ok $? "under sudo"
	given set_owner=1
	given owner=1234:567
	[ "$(stat -c %u:%g owned.json)" = 1234:567 ]
	ok $? "under sudo the summary belongs to the user who called it"
	for bad in '' x -1 4294967295 12x; do
		FAKE_OPTIONS=options SUDO_UID=$bad SUDO_GID=567 "$agent" -q -- true 2>err
		grep -qx set_owner=0 options
		ok $? "SUDO_UID='$bad' is not a user"
	done
}

test_status() {
	FAKE_REFUSED=1 status 3 --profile -a --debuginfod-url http://a --symbol-fail-closed
	FAKE_NEW_ERROR='needs CAP_BPF; run as root' status 1 --profile -a
	says '^perf-agent: needs CAP_BPF; run as root$'
	says_not '--help'
	FAKE_NEW_ERROR='pa_options.pids 7: gone; see pa_options.symbol_cache_max_bytes' status 1 --profile -a
	says '^perf-agent: --pid 7: gone; see --symbol-cache-max$'
	FAKE_START_ERROR='no such kernel' status 1 --profile -a
	says '^perf-agent: no such kernel$'
	FAKE_STOP_ERROR='the disk is full' status 1 --profile -a
	says '^perf-agent: the disk is full$'
	FAKE_OPTIONS=attached status 1 --profile -a --metrics-listen 203.0.113.7:9797
	says '^perf-agent: --metrics-listen: cannot listen at 203[.]0[.]113[.]7:9797: .*; this machine does not have that address'
	[ ! -e attached ]
	run_ok $? "nothing is attached"
	FAKE_NEW_ERROR='needs CAP_BPF; run as root' status 1 -a --metrics-listen unix:agent.sock
	[ ! -e agent.sock ]
	run_ok $? "no socket file is left behind"
	status 0 -a --metrics-listen unix:agent.sock
	says '^perf-agent: metrics at unix:agent.sock'
	FAKE_LOST=3 status 0 --profile -a
	says '3 ticks .*not delivered'
	status 0 --strict --profile -a
	says '^lost     nothing$'
	FAKE_LOST=3 status 3 --strict --profile -a
	says '^perf-agent: --strict: 3 of 8003 ticks [(]0[.]0%[)] lost; exit status 3$'
	FAKE_SIDEBAND_LOST=3 status 3 -q --strict --profile -a
	says '^perf-agent: --strict: 3 records about processes and mappings lost; exit status 3$'
	FAKE_LOST=2000 status 3 -q --max-lost 19.9 -a
	says '^perf-agent: --max-lost 19[.]9: 2000 of 10000 ticks [(]20[.]0%[)] lost; exit status 3$'
	FAKE_LOST=2000 status 0 -q --max-lost 20 -a
	says_not 'lost'
	FAKE_LOST=1 status 3 -q --max-lost 0 -a
	FAKE_SIDEBAND_LOST=3 status 0 --max-lost 0 -a
	FAKE_IDLE=1 status 0 --strict --profile -a
	says '^no samples: all CPUs were idle'
	status 7 -q -- sh -c 'exit 7'
	# shellcheck disable=SC2016
	status 143 -q -- sh -c 'kill -TERM $$'
	FAKE_LOST=1 status 3 -q --strict -- sh -c 'exit 7'
	FAKE_STOP_ERROR='the disk is full' status 1 -q -- sh -c 'exit 7'
	FAKE_MAX_RATE=50 status 2 --profile -a -F 51
	FAKE_MAX_RATE=50 status 0 --profile -a -F 50
	FAKE_MAX_RATE=0 status 0 --profile -a -F 5000
}

test_doctor() {
	status 0 doctor
	prints '^\[ok\]      kernel BTF: present$'
	prints '^\[limited\] kernel addresses'
	prints '^          fix: sysctl'
	prints '^          setcap$'
	[ "$(tail -n 1 out)" = 'ready to profile, with 1 limit' ]
	run_ok $? "the verdict, with the number of limits, is the last line"
	FAKE_DOCTOR_ALL_OK=1 status 0 doctor
	[ "$(tail -n 1 out)" = 'ready to profile' ]
	run_ok $? "the verdict is the last line"
	FAKE_DOCTOR_FAILED=1 status 1 doctor --pid 17
	prints '^\[FAILED\]  privileges: CAP_BPF'
	prints 'process 17'
	[ "$(tail -n 1 out)" = 'cannot profile: 2 problems' ]
	run_ok $? "the verdict, with the number of problems, is the last line"
	[ "$(grep -c 'fix: run as root' out)" = 1 ] && grep -A1 'privileges: CAP_BPF' out | grep -q 'fix: run as root'
	run_ok $? "a fix that two lines share is printed once, below them"
}

test_messages() {
	status 0 --profile --pid $$
	says "^perf-agent: profiling PID $$ \(.*\) for 10s at 99 Hz"
	says '60.0% +90.0%  compute \[app\]'
	says_not 'ticks'
	status 0 -v --profile --pid $$
	says '8000 due = 6000 idle \+ 1000 other \+ 0 outside \+ 1000 samples \+ 0 lost'
	says_not 'elapsed|naming'
	status 0 --profile -a -d 90
	says "profiling $whole for 1m30s at 99 Hz"
	start -a -d 0
	kill -INT $pid
	ended 0 "-d 0 lasts until Ctrl-C"
	says "profiling $whole until Ctrl-C at 99 Hz"
	if unshare -p -f true 2>/dev/null; then
		unshare -p -f "$agent" --profile -a -d 1 2>err
		says 'profiling the processes of this PID namespace for 1s'
	else
		skip "-a in a PID namespace says that it is no more than that" "needs a new PID namespace"
	fi
	status 0 --profile -p 1,$$
	says 'profiling 2 processes for 10s'
	status 0 -- true
	says "profiling 'true' \(PID [0-9]+\) until it ends"
	status 0 -q --profile -a
	[ ! -s err ] && [ ! -s out ]
	run_ok $? "-q prints nothing"
	FAKE_LOG=1 status 0 -q --profile -a
	says 'an error'
	says_not 'a warning'
	FAKE_LOG=1 status 0 --profile -a
	says 'warning: a warning'
	says_not 'an info'
	FAKE_LOG=1 status 0 -v --profile -a
	says 'an info'
	says_not 'a debug'
	FAKE_LOG=1 status 0 -vv --profile -a
	says 'a debug'
	FAKE_HOSTILE=1 LC_ALL=C.UTF-8 status 0 --profile -a
	LC_ALL=C grep -q "$(printf '[\001-\011\013-\037\177-\377]')" err
	[ $? -eq 1 ]
	run_ok $? "no control characters of process names reach the terminal"
}

test_json() {
	status 0 -q --profile -a --json
	python3 -m json.tool out >/dev/null 2>err
	run_ok $? "stdout is valid JSON"
	FAKE_HOSTILE=1 status 0 -q --profile -a --json=s.json
	python3 -m json.tool s.json >/dev/null 2>err
	run_ok $? "the file is valid JSON although process names are hostile"
	[ ! -s out ]
	run_ok $? "nothing on stdout"
	chmod 640 s.json
	FAKE_LOST=4 status 3 -q --strict --profile -a --json=s.json
	grep -q '"ticks_lost": 4' s.json
	run_ok $? "the summary is written although ticks were lost"
	[ "$(stat -c %a s.json)" = 640 ]
	run_ok $? "a file that is replaced keeps its mode"
	FAKE_STOP_ERROR='the disk is full' status 1 -q --profile -a --json
	prints '"error": "the disk is full"'
	status 0 --profile -a --json=t.json
	says 'wrote +t.json \(json'
	ln -s s.json link.json
	status 0 -q --profile -a --json=link.json
	[ -L link.json ]
	run_ok $? "a symbolic link is followed"
	status 1 --profile -a --json=missing/s.json
	says '^perf-agent: --json: cannot write .missing/s.json.: no such directory .missing.'
	says_not profiling
	status 1 --profile -a --json=.
	says 'it is a directory'
	status 0 -q --profile -a --json=/dev/null
	[ -c /dev/null ]
	run_ok $? "a device is written in place"
	mkfifo fifo
	exec 9<>fifo # a reader that is there before the writer
	status 0 -q --profile -a --json=fifo
	dd bs=65536 count=1 <&9 >piped 2>/dev/null
	exec 9>&-
	grep -q '"schema"' piped
	run_ok $? "a FIFO is written in place"
	"$agent" --profile -a --json=fifo 2>err &
	pid=$!
	sleep 0.3 # in which it must not begin
	! grep -q profiling err
	ok $? "the capture does not start before the FIFO of --json has a reader"
	cat fifo >piped
	wait $pid && grep -q '"schema"' piped
	ok $? "the summary is written to a FIFO that got its reader late"
	(ulimit -f 1 && exec "$agent" -q --profile -a --json=big.json 2>/dev/null)
	[ $? -eq 1 ] && [ ! -e big.json ]
	ok $? "a summary that passes the file size limit is an error, not a deadly signal"
	sh -c 'trap "" XFSZ; exec "$@"' - "$agent" -q --profile -o x -- sh -c \
		'grep -q "^SigIgn:.*[1-9a-f]......$" /proc/self/status' 2>err
	ok $? "a command inherits how SIGXFSZ was handled"
	if [ -w /dev/full ]; then
		"$agent" --profile -a --json >/dev/full 2>err
		[ $? -eq 1 ] && grep -q -e '--json: disk full while writing standard output' err
		ok $? "a summary that cannot be written is an error"
	fi
	[ -z "$(find . -name '.perf-agent-*')" ]
	ok $? "nothing is left beside the files"
}

test_command() {
	rm -f ./*.pb.gz
	status 127 -- ./does-not-exist
	says "^perf-agent: cannot run './does-not-exist': No such file or directory$"
	says_not 'wrote|--help'
	[ -z "$(ls ./*.pb.gz 2>/dev/null)" ]
	run_ok $? "no output file"
	for dashes in -- ''; do
		# shellcheck disable=SC2086 # nothing, or a word
		status 127 $dashes no-such-command
		says "^perf-agent: cannot run 'no-such-command': command not found$"
	done
	for word in doctro:doctor xreport:report xconvert:convert dif:diff; do
		status 127 -q "${word%:*}"
		says "^perf-agent: cannot run '${word%:*}': command not found; did you mean 'perf-agent ${word#*:}'\?$"
	done
	FAKE_OPTIONS=untouched PATH=/nowhere:/no/way status 127 ls
	[ ! -e untouched ]
	run_ok $? "the command is looked up before anything is attached"
	for path in "$dir:/nowhere" "/nowhere:" ":/nowhere"; do
		printf '#!/bin/sh\nexit 9\n' >in-path && chmod +x in-path
		PATH=$path status 9 -q in-path
	done
	status 126 -- /
	says "cannot run '/': Permission denied"
	: >no-program
	status 126 ./no-program
	says "cannot run './no-program': Permission denied"
	printf '#!/no/such/interpreter\n' >script && chmod +x script
	status 127 ./script
	says "cannot run './script': its interpreter or dynamic loader is missing"
	status 0 -q printf '%s|' -q --json -- x
	[ "$(cat out)" = '-q|--json|--|x|' ]
	run_ok $? "without --, options after the command belong to the command"
	status 7 -q -F 199 -o x.pb.gz sh -c 'exit 7'
	status 0 -q -- echo record
	status 127 -q -- record
	says "cannot run 'record': command not found"
	status 0 -q -- printf '%s|' 'a b' -q --json
	[ "$(cat out)" = 'a b|-q|--json|' ]
	run_ok $? "the command gets its arguments unchanged"
	FAKE_START_ERROR=no status 1 -- touch was-run
	[ ! -e was-run ]
	run_ok $? "the command is not run if the session does not start"
	FAKE_NEW_ERROR=no status 1 -- touch was-run
	[ ! -e was-run ]
	run_ok $? "the command is not run if the session cannot be created"
	status 0 -q -- grep -E '^Sig(Blk|Ign):' /proc/self/status
	grep -E '^Sig(Blk|Ign):' /proc/self/status | diff - out >err
	run_ok $? "the command has the signal mask and dispositions that the agent was started with"
	status 0 -q -- ls /proc/self/fd
	ls /proc/self/fd >expected 2>err
	diff expected out >err
	run_ok $? "the command inherits no descriptors of the agent"
	if env --ignore-signal=CHLD true 2>/dev/null; then
		env --ignore-signal=CHLD "$agent" -q -- sh -c 'exit 7' 2>err
		[ $? -eq 7 ]
		ok $? "a command's status is seen though SIGCHLD was ignored"
	else
		skip "a command's status is seen though SIGCHLD was ignored" "needs env --ignore-signal"
	fi
	FAKE_DURATION_MS=1 status 5 -d 1s -- sh -c 'sleep 0.3; echo done; exit 5'
	prints 'done'
	says 'waiting for .sh. \(PID [0-9]+\)'
}

# wait_for FILE: until it is there, for at most ten seconds.
wait_for() {
	i=0
	while [ ! -s "$1" ] && [ $i -lt 200 ]; do
		sleep 0.05
		i=$((i + 1))
	done
}

# start ARGUMENTS...: in the background, until it profiles; leaves $pid.
start() {
	: >err
	"$agent" "$@" >out 2>err </dev/null &
	pid=$!
	wait_for err
}

ended() {
	wait "$pid"
	rc=$?
	[ "$rc" -eq "$1" ]
	ok $? "$2: status $1 ($rc)"
}

test_signals() {
	for sig in INT TERM; do
		rm -f s.pb.gz
		FAKE_DURATION_MS=60000 start --profile -a -o s.pb.gz
		kill -$sig $pid
		ended 0 "one SIG$sig ends the capture early"
		[ -s s.pb.gz ]
		ok $? "one SIG$sig: the profile is written"
	done
	rm -f s.pb.gz
	FAKE_WRITING_MS=60000 FAKE_DURATION_MS=60000 start --profile -a -o s.pb.gz
	kill -INT $pid
	kill -TERM $pid # not INT again: two of a kind at once would be one
	ended 143 "a second signal aborts"
	[ ! -e s.pb.gz ]
	ok $? "a second signal: no profile is written"
	rm -f s.pb.gz
	start -o s.pb.gz -- sh -c 'echo go >started; while [ ! -e finish ]; do sleep 0.02; done; exit 4'
	wait_for started
	kill -TERM $pid
	wait_for s.pb.gz
	[ -s s.pb.gz ]
	ok $? "one SIGTERM ends the capture of a command"
	: >finish
	ended 4 "after SIGTERM the command runs on and is waited for"
	FAKE_DURATION_MS=300 "$agent" --profile -a -o e.pb.gz 2>&1 </dev/null | true
	[ -s e.pb.gz ]
	ok $? "readers that have gone away do not keep the file from being written"
}

# A terminal that is gone. Kernel and shell both send SIGHUP, so a second one must not abort.
test_hangup() {
	if grep -Eq '^SigIgn:.*[13579bdf]$' /proc/self/status; then
		skip "SIGHUP ends the capture early" "SIGHUP is ignored here, as under nohup"
		return
	fi
	rm -f s.pb.gz
	FAKE_WRITING_MS=500 FAKE_DURATION_MS=60000 start --profile -a -o s.pb.gz
	while kill -HUP $pid 2>/dev/null && [ ! -s s.pb.gz ]; do
		sleep 0.05
	done
	ended 0 "SIGHUP ends the capture early, however often it comes"
	[ -s s.pb.gz ]
	ok $? "SIGHUP: the profile is written"
	rm -f s.pb.gz
	: >err
	(
		trap '' HUP
		FAKE_WRITING_MS=500 FAKE_DURATION_MS=60000 exec "$agent" --profile -a -o s.pb.gz >out 2>err
	) &
	pid=$!
	wait_for err
	kill -HUP $pid
	kill -TERM $pid # had SIGHUP counted, this would be the second and abort
	ended 0 "SIGHUP is ignored where it was at start, as under nohup"
	[ -s s.pb.gz ]
	ok $? "SIGTERM after an ignored SIGHUP counts as the first signal: the profile is written"
}

# wait_for_line PATTERN: until stderr has it.
wait_for_line() {
	i=0
	while ! grep -q "$1" err && [ $i -lt 200 ]; do
		sleep 0.05
		i=$((i + 1))
	done
}

# Signals to the agent while it waits for a command that outlives its capture.
# shellcheck disable=SC2016 # the command's own shell expands it
test_signals_while_waiting() {
	rm -f started
	FAKE_DURATION_MS=1 start -d 1s -- sh -c \
		'trap "exit 9" TERM; echo go >started; for i in $(seq 500); do sleep 0.02; done'
	wait_for started
	wait_for_line 'waiting for'
	kill -TERM $pid
	ended 9 "SIGTERM after the capture goes to the command"
	rm -f started told
	FAKE_DURATION_MS=1 start -d 1s -- sh -c \
		'trap "echo yes >told" TERM; echo go >started; for i in $(seq 500); do sleep 0.02; done'
	wait_for started
	wait_for_line 'waiting for'
	kill -TERM $pid
	wait_for told
	sleep 0.15 # or it would be a copy of the first
	kill -TERM $pid
	ended 143 "a second SIGTERM after the capture does not wait for the command"
}

test_closed_descriptors() {
	"$agent" --profile -a -o c.pb.gz --json=c.json <&- >&- 2>&-
	ok $? "closed standard descriptors do no harm"
	[ "$(cat c.pb.gz)" = 'a profile' ] && python3 -m json.tool c.json >/dev/null
	ok $? "closed standard descriptors: no output lands in the wrong file"
	"$agent" -q --profile -a --json >&- 2>err
	[ $? -eq 1 ] && grep -q 'cannot write standard output: it is closed' err
	ok $? "closed standard output: a summary for it is an error"
	"$agent" --profile -a --json=/dev/stdout >&- 2>err
	[ $? -eq 1 ] && ! grep -q profiling err
	ok $? "closed standard output: a summary for /dev/stdout is an error before the capture"
	FAKE_DURATION_MS=60000 "$agent" --profile -a >out 2>&- </dev/null &
	pid=$!
	i=0
	while [ "$(readlink /proc/$pid/fd/2)" != / ] && [ $i -lt 200 ]; do
		sleep 0.05
		i=$((i + 1))
	done
	[ "$(readlink /proc/$pid/fd/2)" = / ]
	ok $? "closed standard error: no other file gets its descriptor number"
	kill -TERM $pid
	wait $pid
}

test_terminal() {
	if ! command -v script >/dev/null; then
		skip "progress on a terminal" "needs script"
		return
	fi
	FAKE_DURATION_MS=500 script -qec "stty cols 60; '$agent' --profile -a" typescript \
		</dev/null >out 2>err
	tr '\r' '\n' <typescript >lines
	grep -q '^1.5s / 10s, 1234 samples, 56 stacks, 0 lost' lines
	ok $? "a terminal shows progress"
	! grep -q 'profiling all processes' lines
	ok $? "a terminal that shows progress gets no line at the start"
	# paths and hints are left whole, to be copied
	! awk 'length > 60' lines | grep -Evq '^wrote|fix: |^Script'
	ok $? "progress and report are not wider than the terminal"
	FAKE_OPTIONS=untouched script -qec "'$agent' --profile -a -o -" typescript </dev/null >out 2>err
	[ $? -eq 2 ] && grep -q 'output: standard output is a terminal.*redirect it.*or give a file' typescript
	ok $? "a profile does not go to a terminal"
	[ ! -e untouched ]
	ok $? "a terminal as profile output is found before anything is attached"
	script -qec "'$agent' -q --profile -a -o - | cat" typescript </dev/null >out 2>err
	grep -q 'a profile' typescript
	ok $? "a profile for standard output passes through a pipe to a terminal"
	FAKE_DURATION_MS=300 script -qec "'$agent' -q --profile -a" typescript </dev/null >out 2>err
	! grep -q samples typescript
	ok $? "a terminal shows no progress with -q"
	script -qec "'$agent' -a -d 0 & pid=\$!; sleep 0.5; kill -INT \$pid; wait \$pid" typescript </dev/null >out 2>err
	tr '\r' '\n' <typescript | grep -q '^1.5s, 1234 samples'
	ok $? "progress without an end shows the elapsed time alone"
}

# What a command writes to its terminal is neither written over nor added to before it has ended.
test_command_terminal() {
	if ! command -v script >/dev/null; then
		skip "a command's own terminal" "needs script"
		return
	fi
	cat >talker <<-'EOF'
		#!/bin/sh
		for i in 1 2; do printf 'line '; sleep 0.3; echo $i; done
		echo to stderr >&2
		printf 'password: '; sleep 0.5; read -r answer; echo "($answer)"
		printf '50%%\r100%%\n\033[31mred\033[0m\n'
		[ -t 0 ] && [ -t 1 ] && [ -t 2 ] && stty size
	EOF
	chmod +x talker
	script -qec ./talker /dev/null </dev/null >plain 2>err
	grep -q '^password: ()' plain && grep -q '^line 2' plain && grep -Eq '^[0-9]+ [0-9]+' plain
	ok $? "a command writes to a terminal"
	script -qec "'$agent' -q ./talker" /dev/null </dev/null >quiet 2>err
	cmp plain quiet >err
	ok $? "the output of a command on a terminal is byte for byte the same under the agent with -q"
	script -qec "'$agent' ./talker" /dev/null </dev/null >reported 2>err
	head -c "$(wc -c <plain)" reported | cmp plain - >err
	ok $? "the output of a command on a terminal is byte for byte the same before the report"
	tail -c "+$(($(wc -c <plain) + 1))" reported | grep -q '^wrote'
	ok $? "the report comes after the output of the command"
}

# completes LINE WORD...: bash completes the line, split at spaces, by exactly these words.
completes() {
	line=$1
	shift
	printf '%s\n' "$@" | sort >expected
	# shellcheck disable=SC2086 # a line is words
	bash -c '. "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); compopt() { :; }; _perf_agent
		printf "%s\n" "${COMPREPLY[@]}"' bash "$docs/completion/perf-agent.bash" $line "${last-}" 2>err |
		sort >got
	diff expected got >>err
	ok $? "bash completes '$line ${last-}' by $*"
}

# named NAME: starts a process of that name; its PID is $named.
named() {
	python3 -c 'import ctypes, sys, time
ctypes.CDLL(None).prctl(15, sys.argv[1].encode(), 0, 0, 0)
time.sleep(60)' "$1" &
	named=$!
	for _ in $(seq 100); do
		[ "$(cat "/proc/$named/comm")" = "$1" ] && return
		sleep 0.1
	done
}

# Names of processes are chosen by anyone on the machine.
test_completion_of_names() {
	# shellcheck disable=SC2016 # the shell that completes must not expand it
	named '$(>expanded)'
	expanding=$named
	named ';>executed'
	executing=$named
	named pa-completed
	last=pa-comp completes 'perf-agent -p' pa-completed
	last=1,pa-comp completes 'perf-agent --pid' 1,pa-completed
	last=';' completes 'perf-agent -p' ''
	last='$' completes 'perf-agent -p' ''
	[ ! -e expanded ]
	ok $? "the name of a process is not expanded when bash completes it"
	kill "$expanding" "$executing" "$named"
}

test_docs() {
	for word in '' report convert diff; do
		# shellcheck disable=SC2086 # none, or one
		run $word --help
		grep -Eo -- '--[a-z-]+' out
	done | sort -u >listed
	while read -r option; do
		grep -Fq -- "*$option*" "$docs/perf-agent.1.scd"
		ok $? "the manual knows $option"
	done <listed
	run -q --profile -a --json
	python3 "$(dirname "$0")/json_schema.py" --full out "$docs/json-schema.md" 2>err
	ok $? "the schema describes the fields that are written, and no others"
}

test_usage
test_usage_values
test_usage_outputs
test_usage_pmu
test_suggestions
test_bare_call
test_information
if [ -n "$fake" ]; then
	agent=$fake
	test_options_arrive
	test_repeated
	test_owner
	test_status
	test_doctor
	test_messages
	test_json
	test_command
	test_signals
	test_hangup
	test_signals_while_waiting
	test_closed_descriptors
	test_terminal
	test_command_terminal
fi
if [ -n "$docs" ]; then
	test_docs
	test_completion_of_names
fi
echo "1..$nr"
[ "$failed" -eq 0 ]
