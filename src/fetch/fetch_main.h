/* SPDX-License-Identifier: Apache-2.0 */
/* The process of one fetch: perf-agent itself, started with FETCH_COMMAND. Not part of the
 * library's ABI. */
#ifndef FETCH_FETCH_MAIN_H
#define FETCH_FETCH_MAIN_H

#define FETCH_COMMAND "fetch-debuginfo"
#define FETCH_PROBE "probe"

/*
 * Fetches one file into the current directory and reports the result by its exit status. argv is {
 * program, FETCH_COMMAND, build-id in hex, the agent's PID }, or with FETCH_PROBE instead of the
 * build-id: then it only reports whether it could fetch. main() calls it first if argv[1] is
 * FETCH_COMMAND; it drops every capability before anything else.
 */
int fetch_main(int argc, char *const argv[]);

#endif
