// SPDX-License-Identifier: Apache-2.0
/* unsized [SECONDS]: see unsized.S. */
#include "prog.h"

void label_spin(void);
void cfi_spin(void);

int main(int argc, char **argv)
{
	prog_stop_after(arg_number(argc, argv, 1, 0));
	prog_say_ready();
	while (!prog_stopped) {
		label_spin();
		cfi_spin();
	}
	return 0;
}
