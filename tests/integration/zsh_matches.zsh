# SPDX-License-Identifier: Apache-2.0
# zsh_matches.zsh DIR: completes each line of standard input in an interactive zsh that has the completions of DIR.
# Prints the matches of a line, one per line, and "--end--" after them. Run it by zsh -f in an empty directory.
emulate zsh
zmodload zsh/zpty || exit 77

mkfifo matches || exit 1
cat >setup <<END
fpath=(${(q)1} \$fpath)
autoload -Uz compinit
compinit -u -D
unsetopt beep
exec 9>matches
END
cat >>setup <<'END'
# The matches are those that completion functions add; with -O, -A or -D they only ask which would match.
compadd() {
	if ((${@[(I)-[OAD]]})); then
		builtin compadd "$@"
		return
	fi
	local -a added
	builtin compadd -O added "$@"
	(($#added)) && print -rl -- $added >&9
	builtin compadd "$@"
}
list_matches() {
	_main_complete
	compstate[insert]=
	compstate[list]=
	print -r -- --end-- >&9
}
zle -C list_matches complete-word list_matches
bindkey '^T' list_matches
print -r -- --end-- >&9
END

# Copies what the other zsh says of one line.
copy_matches() {
	local match
	while read -r -u 8 match && [[ $match != --end-- ]]; do
		print -r -- $match
	done
}

zpty -b other "PS1= TERM=dumb zsh -f -i"
zpty -w other '. ./setup'
exec 8<matches
copy_matches
while IFS= read -r line; do
	zpty -w -n other "$line"$'\x14'
	copy_matches
	print -r -- --end--
	zpty -w -n other $'\x15' # an empty line again
done
zpty -d other
