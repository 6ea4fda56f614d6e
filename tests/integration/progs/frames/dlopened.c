// SPDX-License-Identifier: Apache-2.0
/*
 * dlopened: opens a library, burns CPU in it for about 100 ms and closes it, then the same with
 * another one, which may be given the same addresses; again and again.
 * Truth: plug_one_burn, plug_one_hold, plug_enter, use_one, main; the same with two. Never both.
 */
#include "frames.h"

#include <dlfcn.h>

#define TURNS 500

typedef uint64_t plug_fn(uint64_t x, unsigned int turns);

INLINE uint64_t use(const char *path, uint64_t x)
{
	void *lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	plug_fn *enter = lib ? (plug_fn *)(uintptr_t)dlsym(lib, "plug_enter") : NULL;

	if (!enter) {
		fprintf(stderr, "dlopened: %s\n", dlerror());
		exit(1);
	}
	x = enter(x, TURNS);
	dlclose(lib);
	return x;
}

NOINLINE static uint64_t use_one(uint64_t x)
{
	return use(PLUG_DIR "/libplug_one.so", x) + 1;
}

NOINLINE static uint64_t use_two(uint64_t x)
{
	return use(PLUG_DIR "/libplug_two.so", x) + 2;
}

int main(int argc, char **argv)
{
	uint64_t x = (uint64_t)argc;

	prog_stop_after(arg_number(argc, argv, 1, 0));
	prog_say_ready();
	while (!prog_stopped)
		x = use_two(use_one(x));
	return x == 0;
}
