# SPDX-License-Identifier: Apache-2.0
# bash completion for perf-agent(1)                                       -*- shell-script -*-

# Completes the last item of the list $1 by lines of input. Anyone on the machine can choose the name of a
# process: compgen -W would expand it like a word of a script, so names are compared here, and only those
# that the shell takes as they are can be offered.
_perf_agent_list() {
	local prefix='' begin=${1##*,} word
	[[ $1 == *,* ]] && prefix=${1%,*},
	while read -r word; do
		[[ $word == [0-9A-Za-z]* && $word != *[!0-9A-Za-z_.+@/-]* && $word == "$begin"* ]] &&
			COMPREPLY+=("$prefix$word")
	done
}

# Completes the command, from word $1 on, as the shell would complete it alone.
_perf_agent_command() {
	if declare -F _command_offset >/dev/null; then
		_command_offset "$1"
	elif ((COMP_CWORD == $1)); then
		mapfile -t COMPREPLY < <(compgen -c -- "${COMP_WORDS[COMP_CWORD]}")
	else
		compopt -o default
	fi
}

# Whether the value of option $1 is the next word.
_perf_agent_takes_value() {
	case $1 in
	-[pdFo] | -[aqv]*[pdFo] | --pid | --tid | --user | --cgroup | --duration | --sample-rate | --event | --unwind | --debuginfod-url | \
		--symbol-cache-dir | --symbol-cache-max | --symbol-fetch-timeout | --profile-output | \
		--offcpu-output | --offcpu-states | --min-block | --folded-output | --perf-data-output | --flamegraph-output | --pmu-output | --tag | --sort | --top | --max-lost | \
		--by | --type | --output | --format | --fail-over) return 0 ;;
	esac
	return 1
}

# Sets begin to the first word of the command, if that stands before the cursor.
_perf_agent_find_command() {
	local i

	for ((i = 1; i < COMP_CWORD; i++)); do
		case ${COMP_WORDS[i]} in
		--)
			begin=$((i + 1))
			return
			;;
		-*)
			if [[ ${COMP_WORDS[i + 1]} == '=' ]]; then # bash takes it for a word of its own
				((i += 2))
			elif _perf_agent_takes_value "${COMP_WORDS[i]}"; then
				((i++))
			fi
			;;
		*)
			begin=$i
			return
			;;
		esac
	done
}

_perf_agent() {
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} begin=0 subcommand='' word
	local options='--pid --tid --user --cgroup --all --follow-children --no-follow-children --profile --pmu --per-pid
		--offcpu --offcpu-states --min-block --offcpu-output
		--duration --sample-rate --event --unwind --kernel-stacks --inject-python --debuginfod-url --symbol-cache-dir
		--symbol-cache-max --symbol-fetch-timeout --symbol-fail-closed --profile-output --no-profile-output
		--folded-output --perf-data-output --flamegraph-output --pmu-output --tag --json --metrics-listen --sort --top --quiet --verbose --strict --max-lost --version --help --'

	COMPREPLY=()
	((COMP_CWORD > 1)) && case ${COMP_WORDS[1]} in
	doctor)
		local options='--pid --help'
		subcommand=doctor
		;;
	report)
		local options='--sort --top --by --type --verbose --help'
		subcommand=report
		;;
	convert)
		local options='--output --format --type --help'
		subcommand=convert
		;;
	diff)
		local options='--output --fail-over --sort --top --type --help'
		subcommand=diff
		;;
	esac
	[[ $subcommand ]] || _perf_agent_find_command
	if ((begin)); then
		_perf_agent_command "$begin"
		return
	fi
	if [[ $cur == '=' ]]; then
		cur=
		prev+='='
	elif [[ $prev == '=' ]] && ((COMP_CWORD > 1)); then
		prev=${COMP_WORDS[COMP_CWORD - 2]}=
	fi

	[[ $prev == --json= ]] || prev=${prev%=} # which takes its value in no other way
	case $prev in
	-p | -[aqv]*p | --pid)
		_perf_agent_list "$cur" < <(ps -e -o pid= 2>/dev/null; ps -e -o comm= 2>/dev/null | sort -u)
		;;
	--tid)
		_perf_agent_list "$cur" < <(ps -eL -o lwp= 2>/dev/null)
		;;
	--user)
		mapfile -t COMPREPLY < <(compgen -u -- "$cur")
		;;
	--event)
		mapfile -t COMPREPLY < <(compgen -W 'cpu-clock cycles' -- "$cur")
		;;
	--unwind)
		mapfile -t COMPREPLY < <(compgen -W 'fp dwarf auto' -- "$cur")
		;;
	--offcpu-states)
		_perf_agent_list "$cur" < <(printf '%s\n' sleep disk runqueue preempted)
		;;
	--sort)
		mapfile -t COMPREPLY < <(compgen -W 'self total' -- "$cur")
		;;
	--format)
		mapfile -t COMPREPLY < <(compgen -W 'html folded json' -- "$cur")
		;;
	-o | -[aqv]*o | --output | --profile-output | --offcpu-output | --folded-output | --perf-data-output | --flamegraph-output | --pmu-output | --json=)
		compopt -o filenames
		mapfile -t COMPREPLY < <(compgen -f -- "$cur")
		;;
	--symbol-cache-dir | --cgroup)
		compopt -o filenames
		mapfile -t COMPREPLY < <(compgen -d -- "$cur")
		;;
	*)
		_perf_agent_takes_value "$prev" && return
		mapfile -t COMPREPLY < <(compgen -W "$options" -- "$cur")
		for word in report convert diff doctor; do
			((COMP_CWORD == 1)) && [[ $word == "$cur"* ]] && COMPREPLY+=("$word")
		done
		if [[ $subcommand && $subcommand != doctor && $cur != -* ]]; then
			compopt -o filenames
			mapfile -t COMPREPLY < <(compgen -f -- "$cur")
		elif [[ -n $cur && $cur != -* && ! $subcommand ]]; then
			mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -c -- "$cur")
		fi
		;;
	esac
}

complete -F _perf_agent perf-agent
