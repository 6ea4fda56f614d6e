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
unset SUDO_UID SUDO_GID DEBUGINFOD_URLS
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

skip() {
	nr=$((nr + 1))
	echo "ok $nr - $1 # SKIP $2"
}

# run ARGUMENTS...: leaves out, err and $rc behind.
run() {
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
	ok $? "... says it in one line: what, what is wrong, what to do"
	grep -Eq -- "$pattern" err
	ok $? "... with '$pattern'"
	[ ! -s out ]
	ok $? "... and nothing on stdout"
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
	ok $? "... stderr has '$1'"
}

says_not() {
	! grep -Eq -- "$1" err
	ok $? "... stderr has no '$1'"
}

prints() {
	grep -Eq -- "$1" out
	ok $? "... stdout has '$1'"
}

test_usage() {
	usage 'required'
	usage 'required' --profile
	usage 'required' --
	usage 'command is empty' -- ''
	usage 'mutually exclusive' --profile --pid 1 -a
	usage 'mutually exclusive' --profile --pid 1 -- true
	usage 'mutually exclusive' --profile -a -- true
	usage 'at least one of --profile is required' --pid 1
	usage 'at least one of --profile is required' -a
	usage "^perf-agent: --bogus: unknown" --bogus
	usage "^perf-agent: -x: unknown" -x
	usage "^perf-agent: -x: unknown" -qx
	for later in --offcpu --pmu --per-pid --inject-python --metrics-listen=:1; do
		usage "^perf-agent: $later: unknown" --profile -a "$later"
	done
	usage '^perf-agent: --dur: unknown' --dur 1s
	usage '^perf-agent: --dur: unknown' --dur
	usage '^perf-agent: --prof: unknown' --prof
	usage '^perf-agent: --profile: takes no value' --profile=yes
	usage '^perf-agent: --duration: a value is missing' --profile -a -d
	usage '^perf-agent: --duration: a value is missing' --profile -a --duration
	usage '^perf-agent: stray: .*after --' --profile -a stray
	usage '^perf-agent: ls: .*after --' ls -l
	usage '^perf-agent: x: stray' -o y x
	usage '^perf-agent: doctor: must be the first' -v doctor
	usage 'perf-agent: --quiet and --verbose: mutually' --profile -a -q -v
}

test_usage_values() {
	for bad in 0 -1 abc 1,,2 '1,' ',1' 1,x 0x10 99999999999 ' 1' +1; do
		usage '^perf-agent: --pid: .* is no process ID' --profile --pid "$bad"
	done
	usage '^perf-agent: --pid: 7 is given twice' --profile --pid 7,8,7
	usage '^perf-agent: --pid: 7 is given twice' --profile --pid 7 --pid 7
	usage '^perf-agent: --pid: the value is empty' --profile --pid ''
	for bad in abc 10x -5s 1m30 '10 s' 30s1m; do
		usage '^perf-agent: --duration: .* is no duration' --profile -a -d "$bad"
	done
	usage '^perf-agent: --duration: must be greater than 0' --profile -a -d 0
	usage '^perf-agent: --duration: must be greater than 0' --profile -a -d 0ms
	usage '^perf-agent: --duration: .* too long' --profile -a -d 99999999999999999999s
	usage '^perf-agent: --duration: given twice' --profile -a -d 1s -d 2s
	usage '^perf-agent: --duration: the value is empty' --profile -a -d ''
	for bad in 0 -1 abc 99.5 99Hz 1e3; do
		usage '^perf-agent: --sample-rate: .* is no sample rate' --profile -a -F "$bad"
	done
	usage 'limit of [0-9]+; .*kernel.perf_event_max_sample_rate' --profile -a -F 999999999
	usage 'kernel.perf_event_max_sample_rate' --profile -a -F 99999999999999999999
	usage '^perf-agent: --event: .*cpu-clock or cycles' --profile -a --event instructions
	usage '^perf-agent: --unwind: .*fp, dwarf or auto' --profile -a --unwind lbr
	usage '^perf-agent: --tag: .*key=value' --profile -a --tag novalue
	usage '^perf-agent: --tag: .*key=value' --profile -a --tag =x
	usage "^perf-agent: --tag: 'a' is given twice" --profile -a --tag a=1 --tag a=2
}

test_usage_outputs() {
	usage '^perf-agent: --profile-output: the value is empty' --profile -a -o ''
	usage '^perf-agent: --profile-output: .*looks like an option' --profile -a -o --strict
	usage '^perf-agent: --profile-output: given twice' --profile -a -o x -o y
	usage '^perf-agent: --folded-output: .*already' --profile -a -o x --folded-output x
	usage '^perf-agent: --debuginfod-url: .*is no URL' --profile -a --debuginfod-url example.org
	usage '^perf-agent: --debuginfod-url: .*is no URL' --profile -a --debuginfod-url 'http://a http://b'
	for url in http:// https:///x http://:8002 http://user@ http://user:word@/x file:// file:/// file://host/x \
		http://a:65536 http://a:0 http://a:abc; do
		usage "^perf-agent: --debuginfod-url: '$url' is no URL" --profile -a --debuginfod-url "$url"
	done
	usage "^perf-agent: --debuginfod-url: '.*::1' is no URL.*IPv6" --profile -a --debuginfod-url 'http://[::1'
	usage '^perf-agent: --debuginfod-url: .*control character' --profile -a \
		--debuginfod-url "$(printf 'http://a\tb')"
	usage '^perf-agent: --debuginfod-url: the value is empty' --profile -a --debuginfod-url ''
	usage '^perf-agent: --symbol-cache-max: .*is no size' --profile -a --debuginfod-url http://a \
		--symbol-cache-max 1X
	usage '^perf-agent: --symbol-cache-max: .*is no size' --profile -a --debuginfod-url http://a \
		--symbol-cache-max 0
	usage '^perf-agent: --symbol-cache-max: .*is no size' --profile -a --debuginfod-url http://a \
		--symbol-cache-max 9999999999T
	usage '^perf-agent: --symbol-fetch-timeout: .*is no duration' --profile -a --debuginfod-url http://a \
		--symbol-fetch-timeout soon
	usage '^perf-agent: --symbol-fetch-timeout: must be greater than 0' --profile -a \
		--debuginfod-url http://a --symbol-fetch-timeout 0
	usage '^perf-agent: --symbol-fail-closed: .*without a server' --profile -a --symbol-fail-closed
	usage '^perf-agent: --symbol-cache-dir: .*without a server' --profile -a --symbol-cache-dir d
	usage '^perf-agent: --symbol-cache-max: .*without a server' --profile -a --symbol-cache-max 1G
	usage '^perf-agent: --symbol-fetch-timeout: .*without a server' --profile -a \
		--symbol-fetch-timeout 1s
	DEBUGINFOD_URLS='example.org' && export DEBUGINFOD_URLS
	usage '^perf-agent: DEBUGINFOD_URLS: .*is no URL' --profile -a
	DEBUGINFOD_URLS='http://a http://b:99999'
	usage '^perf-agent: DEBUGINFOD_URLS: .*:99999. is no URL.*port' --profile -a
	unset DEBUGINFOD_URLS
	usage '^perf-agent: --json: .*already' --profile -a -o - --json
	usage '^perf-agent: --json: .*already' --profile -a --folded-output s.json --json=s.json
	usage '^perf-agent: --json: the value is empty' --profile -a --json=
	usage '^perf-agent: --json: given twice' --profile -a --json --json=x
	usage 'mutually exclusive' --profile -p 1 --follow-children --no-follow-children
	usage '^perf-agent: --no-follow-children: .*-a/--all' --profile -a --no-follow-children
	usage '^perf-agent: --follow-children: .*-a/--all' --profile -a --follow-children
	usage '^perf-agent: --pid: .*one process' doctor --pid 1,2
	usage '^perf-agent: doctor: takes no arguments' doctor what
	usage '^perf-agent: --json: unknown' doctor --json
	printf '\033[31m' >esc
	usage '^perf-agent: \?\[31m: stray' --profile -a "$(cat esc)"
}

test_information() {
	for flag in --help -h; do
		status 0 $flag
		prints '^usage: perf-agent'
		[ ! -s err ]
		ok $? "... and nothing on stderr"
	done
	for flag in --profile --pid --all --duration --sample-rate --event --unwind --kernel-stacks --json \
		--debuginfod-url --symbol-cache-dir --symbol-cache-max --symbol-fetch-timeout \
		--symbol-fail-closed --profile-output --folded-output --tag --strict --follow-children --quiet --verbose \
		--no-follow-children --version --help; do
		prints "$flag( |\[|$)"
	done
	[ -z "$(awk 'length > 80' out)" ]
	ok $? "help fits 80 columns"
	status 0 doctor --help
	prints '^usage: perf-agent doctor'
	status 0 --version
	grep -Eqx 'perf-agent [0-9]+\.[0-9]+\.[0-9]+' out
	ok $? "... prints the version and nothing else"
	if [ -w /dev/full ]; then
		"$agent" --help >/dev/full 2>err
		[ $? -eq 1 ] && grep -q 'cannot write to standard output' err
		ok $? "help that cannot be written is an error"
	fi
}

# given LINE: the fake was given this option by the run before.
given() {
	grep -Fqx -- "$1" options
	ok $? "... gives the library $1"
}

test_options_arrive() {
	FAKE_OPTIONS=options
	export FAKE_OPTIONS
	status 0 --profile --pid $$ -q
	for line in pid=$$ all=0 start_on_exec=0 no_follow_children=0 event=0 unwind=0 sample_rate_hz=99 \
		kernel_stacks=0 duration_ns=10000000000 'pprof_path=(null)' 'folded_path=(null)' \
		'auto_name=(null)' set_owner=0; do
		given "$line"
	done
	status 0 --profile -a -q -d 1m30s -F 199 --event cycles --unwind dwarf --kernel-stacks -o a.pb.gz \
		--folded-output a.folded --tag a=1 --tag b=x=y
	for line in all=1 event=1 unwind=2 sample_rate_hz=199 kernel_stacks=1 duration_ns=90000000000 \
		pprof_path=a.pb.gz folded_path=a.folded tag=a=1 tag=b=x=y; do
		given "$line"
	done
	status 0 --profile -p 1,$$ --pid=2 --no-follow-children -qo b.pb.gz
	for line in pid=1 pid=$$ pid=2 no_follow_children=1 pprof_path=b.pb.gz; do
		given "$line"
	done
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
	ok $? "... servers in the arguments replace those of the environment"
	status 0 -q -- /bin/true
	! grep -q ^url= options
	ok $? "... without both there is no server"
	unset FAKE_OPTIONS
}

test_owner() {
	if [ "$(id -u)" -ne 0 ]; then
		skip "files belong to the user who called sudo" "needs root"
		return
	fi
	FAKE_OPTIONS=options SUDO_UID=1234 SUDO_GID=567 "$agent" -q --json=owned.json -- true 2>err
	ok $? "under sudo"
	given set_owner=1
	given owner=1234:567
	[ "$(stat -c %u:%g owned.json)" = 1234:567 ]
	ok $? "... the summary belongs to the user who called it"
	for bad in '' x -1 4294967295 12x; do
		FAKE_OPTIONS=options SUDO_UID=$bad SUDO_GID=567 "$agent" -q -- true 2>err
		grep -qx set_owner=0 options
		ok $? "SUDO_UID='$bad' is no user"
	done
}

test_status() {
	FAKE_REFUSED=1 status 3 --profile -a --debuginfod-url http://a --symbol-fail-closed
	FAKE_NEW_ERROR='needs CAP_BPF; run as root' status 1 --profile -a
	says '^perf-agent: needs CAP_BPF; run as root$'
	says_not '--help'
	FAKE_START_ERROR='no such kernel' status 1 --profile -a
	says '^perf-agent: no such kernel$'
	FAKE_STOP_ERROR='the disk is full' status 1 --profile -a
	says '^perf-agent: the disk is full$'
	FAKE_LOST=3 status 0 --profile -a
	says '3 ticks .*not delivered'
	status 0 --strict --profile -a
	says 'nothing was lost'
	FAKE_LOST=3 status 3 --strict --profile -a
	FAKE_SIDEBAND_LOST=3 status 3 --strict --profile -a
	FAKE_IDLE=1 status 0 --strict --profile -a
	says 'samples  none'
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
	FAKE_DOCTOR_FAILED=1 status 1 doctor --pid 17
	prints '^\[FAILED\]  privileges: CAP_BPF'
	prints 'process 17'
}

test_messages() {
	status 0 --profile --pid $$
	says "^perf-agent: profiling PID $$ \(.*\) for 10s at 99 Hz"
	says '60.0% +90.0%  compute \[app\]'
	says '8000 due = 6000 idle \+ 1000 other \+ 0 outside \+ 1000 samples \+ 0 lost'
	says_not 'elapsed|naming'
	status 0 --profile -a -d 90
	says "profiling $whole for 1m30s at 99 Hz"
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
	ok $? "... -q says nothing at all"
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
	ok $? "... hostile names move no cursor"
}

test_json() {
	status 0 -q --profile -a --json
	python3 -m json.tool out >/dev/null 2>err
	ok $? "... prints valid JSON"
	FAKE_HOSTILE=1 status 0 -q --profile -a --json=s.json
	python3 -m json.tool s.json >/dev/null 2>err
	ok $? "... writes valid JSON whatever the names are"
	[ ! -s out ]
	ok $? "... and nothing on stdout"
	chmod 640 s.json
	FAKE_LOST=4 status 3 -q --strict --profile -a --json=s.json
	grep -q '"ticks_lost": 4' s.json
	ok $? "... also when something was lost"
	[ "$(stat -c %a s.json)" = 640 ]
	ok $? "... a file that is replaced keeps its mode"
	FAKE_STOP_ERROR='the disk is full' status 1 -q --profile -a --json
	prints '"error": "the disk is full"'
	status 0 --profile -a --json=t.json
	says 'wrote +t.json \(json'
	ln -s s.json link.json
	status 0 -q --profile -a --json=link.json
	[ -L link.json ]
	ok $? "... a symbolic link is followed"
	status 1 --profile -a --json=missing/s.json
	says '^perf-agent: --json: cannot write .missing/s.json.: no such directory .missing.'
	says_not profiling
	status 1 --profile -a --json=.
	says 'it is a directory'
	status 0 -q --profile -a --json=/dev/null
	[ -c /dev/null ]
	ok $? "... what is no file is written in place"
	mkfifo fifo
	exec 9<>fifo # a reader that is there before the writer
	status 0 -q --profile -a --json=fifo
	dd bs=65536 count=1 <&9 >piped 2>/dev/null
	exec 9>&-
	grep -q '"schema"' piped
	ok $? "... also a FIFO"
	"$agent" --profile -a --json=fifo 2>err &
	pid=$!
	sleep 0.3 # in which it must not begin
	! grep -q profiling err
	ok $? "... which is waited for, before the capture, until it has a reader"
	cat fifo >piped
	wait $pid && grep -q '"schema"' piped
	ok $? "... and then written"
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
	status 1 -- ./does-not-exist
	says "^perf-agent: cannot run './does-not-exist': No such file or directory$"
	says_not 'wrote|--help'
	[ -z "$(ls ./*.pb.gz 2>/dev/null)" ]
	ok $? "... no output file"
	status 1 -- /
	says "cannot run '/': Permission denied"
	status 0 -q -- printf '%s|' 'a b' -q --json
	[ "$(cat out)" = 'a b|-q|--json|' ]
	ok $? "... the command gets its arguments as they are"
	FAKE_START_ERROR=no status 1 -- touch was-run
	[ ! -e was-run ]
	ok $? "... the command is not run when the session does not start"
	FAKE_NEW_ERROR=no status 1 -- touch was-run
	[ ! -e was-run ]
	ok $? "... nor when it cannot be made"
	status 0 -q -- grep -E '^Sig(Blk|Ign):' /proc/self/status
	grep -E '^Sig(Blk|Ign):' /proc/self/status | diff - out >err
	ok $? "... the command has the signals that the agent was started with"
	status 0 -q -- ls /proc/self/fd
	ls /proc/self/fd >expected 2>err
	diff expected out >err
	ok $? "... the command has no descriptors of the agent"
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
		ok $? "... and writes"
	done
	rm -f s.pb.gz
	FAKE_WRITING_MS=60000 FAKE_DURATION_MS=60000 start --profile -a -o s.pb.gz
	kill -INT $pid
	kill -TERM $pid # not INT again: two of a kind at once would be one
	ended 143 "a second signal aborts"
	[ ! -e s.pb.gz ]
	ok $? "... and writes nothing"
	rm -f s.pb.gz
	start -o s.pb.gz -- sh -c 'echo go >started; while [ ! -e finish ]; do sleep 0.02; done; exit 4'
	wait_for started
	kill -TERM $pid
	wait_for s.pb.gz
	[ -s s.pb.gz ]
	ok $? "one SIGTERM ends the capture of a command"
	: >finish
	ended 4 "... the command runs on and is waited for"
	FAKE_DURATION_MS=300 "$agent" --profile -a -o e.pb.gz 2>&1 </dev/null | true
	[ -s e.pb.gz ]
	ok $? "readers that have gone away do not keep the file from being written"
}

# A terminal that is gone. Kernel and shell both tell of it, so that the second is no second wish.
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
	ok $? "... and writes"
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
	ok $? "... and SIGTERM is the first that counts"
}

# wait_for_line PATTERN: until stderr has it.
wait_for_line() {
	i=0
	while ! grep -q "$1" err && [ $i -lt 200 ]; do
		sleep 0.05
		i=$((i + 1))
	done
}

# A command that outlives its capture, and what the agent is told meanwhile.
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
	kill -TERM $pid
	ended 143 "... and a second one does not wait for it"
}

test_closed_descriptors() {
	"$agent" --profile -a -o c.pb.gz --json=c.json <&- >&- 2>&-
	ok $? "closed standard descriptors do no harm"
	[ "$(cat c.pb.gz)" = 'a profile' ] && python3 -m json.tool c.json >/dev/null
	ok $? "... and nothing lands in the wrong file"
	"$agent" -q --profile -a --json >&- 2>err
	[ $? -eq 1 ] && grep -q 'cannot write standard output: it is closed' err
	ok $? "... but a summary that should go there is an error"
	"$agent" --profile -a --json=/dev/stdout >&- 2>err
	[ $? -eq 1 ] && ! grep -q profiling err
	ok $? "... also by the name /dev/stdout, before the capture"
	FAKE_DURATION_MS=60000 "$agent" --profile -a >out 2>&- </dev/null &
	pid=$!
	i=0
	while [ "$(readlink /proc/$pid/fd/2)" != / ] && [ $i -lt 200 ]; do
		sleep 0.05
		i=$((i + 1))
	done
	[ "$(readlink /proc/$pid/fd/2)" = / ]
	ok $? "... no other file takes their numbers"
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
	ok $? "... and no line at the start"
	# paths and cures are left whole, to be copied
	! awk 'length > 60' lines | grep -Evq '^wrote|fix: |^Script'
	ok $? "... nothing is wider than the terminal"
	FAKE_OPTIONS=untouched script -qec "'$agent' --profile -a -o -" typescript </dev/null >out 2>err
	[ $? -eq 2 ] && grep -q 'output: standard output is a terminal.*redirect it.*or give a file' typescript
	ok $? "a profile does not go to a terminal"
	[ ! -e untouched ]
	ok $? "... which is found before anything is attached"
	script -qec "'$agent' -q --profile -a -o - | cat" typescript </dev/null >out 2>err
	grep -q 'a profile' typescript
	ok $? "... but through a pipe it does"
	FAKE_DURATION_MS=300 script -qec "'$agent' -q --profile -a" typescript </dev/null >out 2>err
	! grep -q samples typescript
	ok $? "... -q shows none"
}

test_docs() {
	run --help
	grep -Eo -- '--[a-z-]+' out | sort -u >listed
	while read -r option; do
		grep -Fq -- "*$option*" "$docs/perf-agent.1.scd"
		ok $? "the manual knows $option"
		grep -Eq -- "$option( |'|$)" "$docs/perf-agent.bash-completion"
		ok $? "... and so does the completion"
	done <listed
	run -q --profile -a --json
	python3 - out "$docs/json-schema.md" 2>err <<-'EOF'
		import json, re, sys
		summary = json.load(open(sys.argv[1]))
		rows = re.findall(r"^\| `([a-z0-9_\[\].]+)` \| ([a-z]+)", open(sys.argv[2]).read(), re.M)
		keys = set(summary)
		for name in ("functions", "unnamed", "limits", "unanswered", "outputs"):
		    keys |= {f"{name}[].{key}" for key in summary[name][0]}
		documented = {name for name, _ in rows}
		assert keys == documented, keys ^ documented
		types = {"string": str, "integer": int, "boolean": bool, "array": list}
		for name, kind in rows:
		    if "[" not in name and summary[name] is not None:
		        assert type(summary[name]) is types[kind], name
	EOF
	ok $? "the schema describes the fields that are written, and no others"
}

test_usage
test_usage_values
test_usage_outputs
test_information
if [ -n "$fake" ]; then
	agent=$fake
	test_options_arrive
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
fi
if [ -n "$docs" ]; then
	test_docs
fi
echo "1..$nr"
[ "$failed" -eq 0 ]
