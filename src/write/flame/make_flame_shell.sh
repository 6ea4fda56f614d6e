#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# make_flame_shell.sh PAGE.html STYLE.css SCRIPT.js…: two C strings, the flame graph page up to its data and the
# rest. In the page @STYLE@, @SCRIPT@ and @DATA@ stand for what goes there, each on a line of its own;
# @STYLE_HASH@ and @SCRIPT_HASH@ are what the page's policy knows the style and the script by.
set -eu
page=$1 style=$2
shift 2

# As Content-Security-Policy has it: of the text between the tags.
hash_of() {
	printf 'sha256-%s' "$(sha256sum | cut -c 1-64 | tr a-f A-F | basenc --base16 -d | base64)"
}

c_string() {
	printf 'static const char %s[] =\n' "$1"
	sed 's/\\/\\\\/g; s/"/\\"/g; s/^/"/; s/$/\\n"/'
	echo ';'
}

style_hash=$({ echo && cat "$style"; } | hash_of)
script_hash=$({ echo && cat "$@"; } | hash_of)
# reads no file of its own accord: the page is the input, lines of it are replaced by files
whole=$(while IFS= read -r line; do
	case $line in
	@STYLE@) cat "$style" ;;
	@SCRIPT@) cat "$@" ;;
	*) printf '%s\n' "$line" ;;
	esac
done <"$page" | sed "s|@STYLE_HASH@|$style_hash|; s|@SCRIPT_HASH@|$script_hash|")
printf '%s\n' "$whole" | sed '/^@DATA@$/,$d' | c_string flame_shell_before
printf '%s\n' "$whole" | sed '1,/^@DATA@$/d' | c_string flame_shell_after
