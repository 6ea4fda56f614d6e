// SPDX-License-Identifier: Apache-2.0
/*
 * jit map|short|memfd|file|dump|replace|fork|fork-dump|fork-exec|none [SECONDS]: makes two functions at run time and runs them until SECONDS
 * have passed (0: for ever) or SIGTERM comes, three quarters of the time in the first. `map` writes
 * /tmp/perf-<pid>.map, so do `short`, whose functions are hardly more than their first and last
 * instructions, and `memfd`, whose code is in a memory file; so does `file`, whose hot is in the file
 * ./code-<pid>, and whose map has another name for run, too; `dump` writes ./jit-<pid>.dump with lines
 * and maps it executable.
 * `replace` writes a dump too, but has hot and cold in one place, one after the other, every few
 * milliseconds, and tells of each when it is over; it prints the nanoseconds of both in the end.
 * There, hot is called by run_hot, cold by run_cold.
 * `fork` and `fork-dump` tell as `map` and `dump` do, but have a child run it all, and print its PID;
 * in the dump there is other code in its place then. `fork-exec` has its child run `none` as a program
 * of its own.
 * Truth: every sample is main → run → hot or cold, the names as JS (map) or with a line (dump).
 */
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "prog.h"

#define HOT_STEPS 300000u
#define COLD_STEPS 100000u
#define FUNCTION_BYTES 64

#if defined(__x86_64__)
/* push %rbp; mov %rsp,%rbp; mov $steps,%ecx; 1: dec %ecx; jnz 1b; pop %rbp; ret */
static size_t make_code(unsigned char *to, uint32_t steps)
{
	static const unsigned char code[] = { 0x55, 0x48, 0x89, 0xe5, 0xb9, 0,    0,   0,
					      0,    0xff, 0xc9, 0x75, 0xfc, 0x5d, 0xc3 };

	memcpy(to, code, sizeof(code));
	memcpy(to + 5, &steps, sizeof(steps));
	return sizeof(code);
}
#define LOOP_OFFSET 9
#elif defined(__aarch64__)
/* stp x29,x30,[sp,-16]!; mov x29,sp; movz, movk w1; 1: subs w1,w1,1; b.ne 1b; ldp; ret */
static size_t make_code(unsigned char *to, uint32_t steps)
{
	uint32_t code[] = { 0xa9bf7bfd,
			    0x910003fd,
			    0x52800001 | (steps & 0xffff) << 5,
			    0x72a00001 | (steps >> 16) << 5,
			    0x71000421,
			    0x54ffffe1,
			    0xa8c17bfd,
			    0xd65f03c0 };

	memcpy(to, code, sizeof(code));
	return sizeof(code);
}
#define LOOP_OFFSET 16
#endif

static const struct {
	const char *map_name, *dump_name;
	uint32_t steps;
} functions[] = {
	{ "JS:*hot /srv/app.js:12:3", "hot", HOT_STEPS },
	{ "py::cold:/srv/app.py", "cold", COLD_STEPS },
};

static FILE *create(const char *before, const char *after)
{
	char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "%s%d%s", before, getpid(), after);
	f = fopen(path, "w+e");
	if (!f) {
		perror(path);
		exit(2);
	}
	return f;
}

static void write_map(void (*const code[2])(void), unsigned long other)
{
	FILE *f = create("/tmp/perf-", ".map");

	for (size_t i = 0; i < 2; i++)
		fprintf(f, "%lx %x %s\n", (unsigned long)code[i], FUNCTION_BYTES,
			functions[i].map_name);
	if (other)
		fprintf(f, "%lx 10 not_run\n", other);
	fclose(f);
}

static void put(FILE *f, uint64_t value, size_t bytes)
{
	fwrite(&value, 1, bytes, f);
}

static void put_head(FILE *f, uint32_t id, size_t bytes, uint64_t time_ns)
{
	put(f, id, 4);
	put(f, 16 + bytes, 4);
	put(f, time_ns, 8);
}

/* Line 10 until the loop, which is line 11. */
static void put_lines(FILE *f, uint64_t code, uint64_t time_ns)
{
	static const char file[] = "/srv/app.x";

	put_head(f, 2, 16 + 2 * (16 + sizeof(file)), time_ns);
	put(f, code, 8);
	put(f, 2, 8);
	for (unsigned int i = 0; i < 2; i++) {
		put(f, code + i * LOOP_OFFSET, 8);
		put(f, 10 + i, 4);
		put(f, 0, 4);
		fwrite(file, 1, sizeof(file), f);
	}
}

static void put_function(FILE *f, size_t i, const void *code, uint64_t time_ns)
{
	const char *name = functions[i].dump_name;
	uint64_t start = (uint64_t)(uintptr_t)code;

	put_lines(f, start, time_ns);
	put_head(f, 0, 40 + strlen(name) + 1 + FUNCTION_BYTES, time_ns);
	put(f, (uint64_t)getpid() << 32 | (uint64_t)getpid(), 8);
	put(f, start, 8);
	put(f, start, 8);
	put(f, FUNCTION_BYTES, 8);
	put(f, i, 8);
	fwrite(name, 1, strlen(name) + 1, f);
	fwrite(code, 1, FUNCTION_BYTES, f);
}

/* Mapped, so that it be found. */
static FILE *create_dump(void)
{
	static const uint32_t head[] = { 0x4a695444, 1, 40, 0, 0, 0, 0, 0, 0, 0 };
	FILE *f = create("jit-", ".dump");

	fwrite(head, 1, sizeof(head), f);
	fflush(f);
	if (mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fileno(f), 0) == MAP_FAILED)
		exit(2);
	return f;
}

/* is_swapped: each has the other's name. */
static void put_functions(FILE *f, void (*const code[2])(void), bool is_swapped)
{
	for (size_t i = 0; i < 2; i++) {
		const void *at;

		memcpy(&at, &code[i], sizeof(at));
		put_function(f, is_swapped ? 1 - i : i, at, clock_ns(CLOCK_MONOTONIC));
	}
	fflush(f);
}

NOINLINE static void run(void (*const code[2])(void))
{
	while (!prog_stopped) {
		code[0]();
		code[1]();
	}
}

/* ---- one after the other in one place ---- */

#define HOT_NS (9 * NS_PER_MS)
#define COLD_NS (3 * NS_PER_MS)

NOINLINE static void run_hot(void (*code)(void), uint64_t until_ns)
{
	while (clock_ns(CLOCK_PROCESS_CPUTIME_ID) < until_ns)
		code();
}

NOINLINE static void run_cold(void (*code)(void), uint64_t until_ns)
{
	while (clock_ns(CLOCK_PROCESS_CPUTIME_ID) < until_ns)
		code();
	__asm__ volatile(""); /* else the compiler makes one function of the two */
}

/* Returns for how long it ran. */
static uint64_t run_one(FILE *dump, unsigned char *page, size_t i)
{
	size_t n = make_code(page, HOT_STEPS / 16); /* the same: asking the time costs both alike */
	uint64_t time_ns, start_ns;
	void (*code)(void);

	memcpy(&code, &page, sizeof(code));
	__builtin___clear_cache((char *)page, (char *)page + n);
	time_ns = clock_ns(CLOCK_MONOTONIC);
	start_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	if (i == 0)
		run_hot(code, start_ns + HOT_NS);
	else
		run_cold(code, start_ns + COLD_NS);
	start_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID) - start_ns;
	put_function(dump, i, page, time_ns);
	fflush(dump);
	return start_ns;
}

static int run_replacing(void)
{
	unsigned char *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
				   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t took_ns[2] = { 0 };
	FILE *dump = create_dump();

	if (page == MAP_FAILED)
		return 2;
	while (!prog_stopped)
		for (size_t i = 0; i < 2; i++)
			took_ns[i] += run_one(dump, page, i);
	fclose(dump);
	printf("%llu %llu\n", (unsigned long long)took_ns[0], (unsigned long long)took_ns[1]);
	return 0;
}

/* As .NET does it: memory with a file behind it, so that it can be mapped twice. */
static unsigned char *shared_page(void)
{
	int fd = memfd_create("doublemapper", MFD_CLOEXEC);

	if (fd < 0 || ftruncate(fd, 4096) < 0)
		return MAP_FAILED;
	return mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
}

/* As V8 does it with its builtins, in the library that it is part of. */
static unsigned char *file_page(const unsigned char *code)
{
	FILE *f = create("code-", "");
	unsigned char *page;

	fwrite(code, 1, 4096, f);
	fflush(f);
	page = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fileno(f), 0);
	fclose(f);
	return page;
}

static unsigned char *private_page(void)
{
	return mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

static bool is_mode(const char *mode, const char *name)
{
	return strcmp(mode, name) == 0;
}

/* Both functions, in one page. False: not here. */
static bool make_functions(const char *mode, void (*code[2])(void))
{
	unsigned char *page = is_mode(mode, "memfd") ? shared_page() : private_page(), *copy;

	if (page == MAP_FAILED)
		return false;
	for (size_t i = 0; i < 2; i++) {
		unsigned char *at = page + i * FUNCTION_BYTES;
		size_t n = make_code(at, is_mode(mode, "short") ? 1 : functions[i].steps);

		__builtin___clear_cache((char *)at, (char *)at + n);
		memcpy(&code[i], &at, sizeof(code[i]));
	}
	if (mprotect(page, 4096, PROT_READ | PROT_EXEC) < 0)
		return false;
	if (!is_mode(mode, "file"))
		return true;
	copy = file_page(page);
	memcpy(&code[0], &copy, sizeof(code[0]));
	return copy != MAP_FAILED;
}

/* The dump, if code is announced there. */
static FILE *tell(const char *mode, void (*const code[2])(void))
{
	FILE *dump = NULL;

	if (is_mode(mode, "dump") || is_mode(mode, "fork-dump")) {
		dump = create_dump();
		put_functions(dump, code, false);
	} else if (!is_mode(mode, "none")) {
		write_map(code, is_mode(mode, "file") ? (unsigned long)run : 0);
	}
	return dump;
}

/* In the child it returns 0, in the parent when the child has ended. */
static pid_t fork_and_wait(const char *mode, char *seconds, void (*const code[2])(void), FILE *dump)
{
	pid_t pid = fork();

	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (is_mode(mode, "fork-exec"))
			execl("/proc/self/exe", "jit", "none", seconds, (char *)NULL);
		return 0;
	}
	usleep(50000); /* of a process that was found, the beginning is known to a hundredth of a second */
	if (dump)
		put_functions(dump, code, true);
	printf("%d\n", pid);
	fflush(stdout);
	waitpid(pid, NULL, 0);
	return pid;
}

int main(int argc, char **argv)
{
	void (*code[2])(void);
	FILE *dump;

	if (argc < 2 || !make_functions(argv[1], code))
		return 2;
	if (is_mode(argv[1], "replace")) {
		prog_stop_after(arg_number(argc, argv, 2, 0));
		return run_replacing();
	}
	dump = tell(argv[1], code);
	if (strncmp(argv[1], "fork", 4) == 0 && fork_and_wait(argv[1], argv[2], code, dump) != 0)
		return 0;
	prog_stop_after(arg_number(argc, argv, 2, 0));
	prog_say_ready();
	run(code);
	return 0;
}
