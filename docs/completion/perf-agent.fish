# SPDX-License-Identifier: Apache-2.0
# fish completion for perf-agent(1)

# Prints the words of the command before the cursor; fails while it has not begun.
function __perf_agent_command
    set -l with_value -p --pid --tid --user --cgroup -d --duration -F --sample-rate --event --unwind --debuginfod-url \
        --symbol-cache-dir --symbol-cache-max --symbol-fetch-timeout -o --profile-output --folded-output --perf-data-output --flamegraph-output --pmu-output \
        --offcpu-states --min-block --offcpu-output --tag --sort --top --max-lost
    set -l words (commandline -opc)
    set -e words[1]
    while set -q words[1]
        switch $words[1]
            case --
                set -e words[1]
                set -q words[1]; and printf '%s\n' $words
                return 0
            case '-*'
                contains -- $words[1] $with_value; and set -e words[1]
                set -e words[1]
            case '*'
                printf '%s\n' $words
                return 0
        end
    end
    return 1
end

function __perf_agent_has_command
    set -l words (__perf_agent_command); and not contains -- "$words[1]" report convert diff doctor
end

function __perf_agent_is_of
    set -l words (commandline -opc)
    contains -- "$words[2]" $argv
end

function __perf_agent_is_doctor
    set -l words (commandline -opc)
    test "$words[2]" = doctor
end

function __perf_agent_complete_command
    set -l words (string escape -- (__perf_agent_command)) (commandline -ct)
    complete -C "$words"
end

function __perf_agent_has_no_command
    not __perf_agent_command >/dev/null
end

set -l o complete -c perf-agent -n __perf_agent_has_no_command
complete -c perf-agent -f
complete -c perf-agent -n __perf_agent_has_command -a '(__perf_agent_complete_command)'
complete -c perf-agent -n '__perf_agent_has_no_command; and not string match -q -- "-*" (commandline -ct)' \
    -a '(__fish_complete_command)'
complete -c perf-agent -n 'test (count (commandline -opc)) -eq 1' -a doctor -d 'Check what this machine allows'
complete -c perf-agent -n __perf_agent_is_doctor -s p -l pid -xa '(__fish_complete_pids)' -d 'Also check this process'
complete -c perf-agent -n __perf_agent_is_doctor -s h -l help -d 'Print help'

complete -c perf-agent -n 'test (count (commandline -opc)) -eq 1' -a report -d 'Print a profile'
complete -c perf-agent -n 'test (count (commandline -opc)) -eq 1' -a convert -d 'Write a profile in another format'
complete -c perf-agent -n 'test (count (commandline -opc)) -eq 1' -a diff -d 'Compare two profiles'
complete -c perf-agent -n '__perf_agent_is_of report convert diff' -F
complete -c perf-agent -n '__perf_agent_is_of report convert diff' -l type -x -d 'Which values to use'
complete -c perf-agent -n '__perf_agent_is_of report convert diff' -s h -l help -d 'Print help'
complete -c perf-agent -n '__perf_agent_is_of report diff' -l sort -xa 'self total' -d 'List functions by'
complete -c perf-agent -n '__perf_agent_is_of report diff' -l top -x -d 'How many functions to list'
complete -c perf-agent -n '__perf_agent_is_of report' -l by -x -d 'A table by the values of a label'
complete -c perf-agent -n '__perf_agent_is_of report' -s v -l verbose -d 'Longer lists'
complete -c perf-agent -n '__perf_agent_is_of convert diff' -s o -l output -rF -d 'Where to write'
complete -c perf-agent -n '__perf_agent_is_of convert' -l format -xa 'html folded json' -d 'Of the output'
complete -c perf-agent -n '__perf_agent_is_of diff' -l fail-over -x -d 'Exit 3 if a function grew by more'

$o -s p -l pid -xa '(__fish_complete_list , "__fish_complete_pids; __fish_complete_proc")' -d 'These processes and their children'
$o -l tid -x -d 'These threads alone'
$o -l user -xa '(__fish_complete_users)' -d 'All processes of a user'
$o -l cgroup -xa '(__fish_complete_directories)' -d 'All processes in a cgroup or below'
$o -s a -l all -d 'The whole machine'
$o -l follow-children -d 'Include children of the targets (default)'
$o -l no-follow-children -d 'Leave out children of the targets'
$o -l profile -d 'On-CPU profile with stacks (default)'
$o -l offcpu -d 'Off-CPU profile: where threads wait'
$o -l offcpu-states -xa '(__fish_complete_list , "printf %s\\n sleep disk runqueue preempted")' -d 'What counts as a wait'
$o -l min-block -x -d 'Shorter waits are only counted'
$o -l pmu -d 'Scheduler statistics and hardware counters'
$o -l per-pid -d 'Of each process (with -a --pmu)'
$o -s d -l duration -x -d 'How long to sample: 10s, 1m30s; 0 is until Ctrl-C'
$o -s F -l sample-rate -x -d 'Samples per second and CPU'
$o -l event -xa 'cpu-clock cycles' -d 'What triggers samples'
$o -l unwind -xa 'fp dwarf auto' -d 'How stacks are unwound'
$o -l kernel-stacks -d 'Kernel frames above the user frames'
$o -l inject-python -d 'Switch names of Python functions on'
$o -l debuginfod-url -x -d 'Fetch debug files from this server'
$o -l symbol-cache-dir -xa '(__fish_complete_directories)' -d 'Where fetched files are kept'
$o -l symbol-cache-max -x -d 'Size limit of the cache'
$o -l symbol-fetch-timeout -x -d 'Timeout per file'
$o -l symbol-fail-closed -d 'No symbols where a debug file cannot be fetched'
$o -s o -l profile-output -rF -d 'pprof file'
$o -l offcpu-output -rF -d 'pprof file of --offcpu'
$o -l no-profile-output -d 'Write no pprof file'
$o -l folded-output -rF -d 'Folded stacks'
$o -l perf-data-output -rF -d 'perf.data file'
$o -l flamegraph-output -rF -d 'Flame graph page'
$o -l pmu-output -rF -d 'File for --pmu, or auto'
$o -l tag -x -d 'Recorded in the profile'
$o -l json -a '(__fish_complete_path (string replace -- --json= "" (commandline -ct)))' -d 'Summary as one JSON object'
$o -l metrics-listen -x -d 'Metrics by HTTP during the capture'
$o -l sort -xa 'self total' -d 'List functions by'
$o -l top -x -d 'How many functions to list'
$o -s q -l quiet -d 'Errors only'
$o -s v -l verbose -d 'Say more'
$o -l strict -d 'Exit 3 if anything was lost'
$o -l max-lost -x -d 'Exit 3 if more of the ticks due were lost'
$o -s V -l version -d 'Print the version'
$o -s h -l help -d 'Print help'
