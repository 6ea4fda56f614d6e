/* SPDX-License-Identifier: Apache-2.0 */
/* `perf-agent doctor`: what works here, what does not, and how to fix it. */
#ifndef CLI_RUN_DOCTOR_H
#define CLI_RUN_DOCTOR_H

/* argv[0] is "doctor". Returns the exit status. */
int run_doctor(int argc, char *argv[]);

#endif
