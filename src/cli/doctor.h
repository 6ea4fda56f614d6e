/* SPDX-License-Identifier: Apache-2.0 */
/* `perf-agent doctor`: what works here, what does not, and the cure. */
#ifndef CLI_DOCTOR_H
#define CLI_DOCTOR_H

/* argv[0] is "doctor". Returns the exit status. */
int doctor_main(int argc, char *argv[]);

#endif
