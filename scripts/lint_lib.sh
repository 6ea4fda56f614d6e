# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# For the check_* scripts: the top of the repository, and a skip where a tool is missing.

top=$(cd "$(dirname "$0")/.." && pwd)
export top

# need TOOL: 77 is meson's status for a skipped test; the last line is its reason.
need() {
	if ! command -v "$1" >/dev/null 2>&1; then
		echo "$1 is not installed"
		exit 77
	fi
}
