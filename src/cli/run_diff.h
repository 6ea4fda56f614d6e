/* SPDX-License-Identifier: Apache-2.0 */
/* `perf-agent diff`: how two profiles differ. */
#ifndef CLI_RUN_DIFF_H
#define CLI_RUN_DIFF_H

/* argv[0] is "diff". Returns the exit status. */
int run_diff(int argc, char *argv[]);

#endif
