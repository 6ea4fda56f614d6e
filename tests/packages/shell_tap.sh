# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# TAP for the tests in shell: plan at the end; the output of what failed as comments.
nr=0
failed=0
out=$(mktemp)

# check NAME COMMAND…
check() {
	tap_name=$1
	shift
	nr=$((nr + 1))
	if "$@" >"$out" 2>&1; then
		echo "ok $nr - $tap_name"
	else
		echo "not ok $nr - $tap_name"
		echo "# failed: $*"
		tail -n 60 "$out" | sed 's/^/# /'
		failed=1
	fi
}

skip_all() {
	echo "1..0 # SKIP $*"
	rm -f "$out"
	exit 0
}

finish_tap() {
	echo "1..$nr"
	rm -f "$out"
	exit "$failed"
}
