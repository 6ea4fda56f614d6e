// SPDX-License-Identifier: Apache-2.0
/*
 * storm COUNT PARALLEL TRUTH BINARY…: runs COUNT processes that live 5 to 50 ms of CPU time each, at
 * most PARALLEL at once, taking the BINARIES (storm_child variants) in turn. Every fourth process
 * runs from a private copy, beside the file TRUTH, that is unlinked as soon as the process runs.
 *
 * Truth: one line per process in the file TRUTH, in the order of their ends:
 *   pid path build-id variant start_ns running_ns end_ns kept|unlinked
 * start is taken before fork, running when the child has said that its main() is reached, end after
 * it has exited; all CLOCK_MONOTONIC. path is the one that was executed, variant the number at the
 * end of the BINARY's name, build-id in hexadecimal. The status is 1 if any child failed.
 */
#include "prog.h"

#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/wait.h>

#define PARALLEL_MAX 512
#define BINARIES_MAX 256
#define BUILD_ID_MAX 20
#define LIFE_MIN_MS 5
#define LIFE_SPREAD_MS 46
#define UNLINK_EVERY 4
#define CHILD_NOTIFY_FD 3

struct binary {
	const char *path;
	char build_id[2 * BUILD_ID_MAX + 1];
	const char *variant;
};

struct child {
	pid_t pid; /* 0: this slot is free */
	int fd;    /* one byte when it runs, end of file when it is gone */
	const struct binary *binary;
	char path[PATH_MAX];
	bool is_unlinked;
	uint64_t start_ns, running_ns;
};

struct storm {
	struct binary binaries[BINARIES_MAX];
	size_t nr_binaries;
	struct child children[PARALLEL_MAX];
	size_t nr_slots, nr_running;
	unsigned long nr_started, nr_failed;
	const char *truth_path;
	FILE *truth;
};

__attribute__((noreturn)) static void die(const char *what)
{
	fprintf(stderr, "storm: %s: %s\n", what, strerror(errno));
	exit(1);
}

/* Finds the GNU build-id in a buffer of notes; the files are our own. */
static bool build_id_from_notes(const char *notes, size_t size, char *ret_hex)
{
	Elf64_Nhdr n;

	for (size_t at = 0; at + sizeof(n) <= size;) {
		memcpy(&n, notes + at, sizeof(n));
		at += sizeof(n);
		if (n.n_type == NT_GNU_BUILD_ID && n.n_namesz == 4 && n.n_descsz <= BUILD_ID_MAX &&
		    at + 4 + n.n_descsz <= size && !memcmp(notes + at, "GNU", 4)) {
			for (unsigned int i = 0; i < n.n_descsz; i++)
				sprintf(ret_hex + 2 * i, "%02x", (unsigned char)notes[at + 4 + i]);
			return true;
		}
		at += ((n.n_namesz + 3) & ~3u) + ((n.n_descsz + 3) & ~3u);
	}
	return false;
}

static bool read_build_id(const char *path, char *ret_hex)
{
	char notes[4096];
	Elf64_Ehdr eh;
	Elf64_Phdr ph;
	bool found = false;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || pread(fd, &eh, sizeof(eh), 0) != sizeof(eh))
		die(path);
	for (unsigned int i = 0; i < eh.e_phnum && !found; i++) {
		off_t at = (off_t)(eh.e_phoff + i * sizeof(ph));

		if (pread(fd, &ph, sizeof(ph), at) != sizeof(ph))
			die(path);
		if (ph.p_type != PT_NOTE || ph.p_filesz > sizeof(notes))
			continue;
		if (pread(fd, notes, ph.p_filesz, (off_t)ph.p_offset) != (ssize_t)ph.p_filesz)
			die(path);
		found = build_id_from_notes(notes, ph.p_filesz, ret_hex);
	}
	close(fd);
	return found;
}

static void add_binary(struct storm *s, const char *path)
{
	struct binary *b = &s->binaries[s->nr_binaries++];
	const char *end = path + strlen(path);

	b->path = path;
	while (end > path && end[-1] >= '0' && end[-1] <= '9')
		end--;
	b->variant = *end ? end : "-";
	if (!read_build_id(path, b->build_id)) {
		fprintf(stderr, "storm: '%s' has no build-id\n", path);
		exit(1);
	}
}

/* A file of its own with the same content, closed for writing before anybody executes it. */
static void copy_binary(const char *from, const char *to)
{
	struct stat st;
	int in = open(from, O_RDONLY | O_CLOEXEC);
	int out = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0700);

	if (in < 0 || out < 0 || fstat(in, &st) < 0)
		die(to);
	for (off_t at = 0; at < st.st_size;)
		if (sendfile(out, in, &at, (size_t)(st.st_size - at)) <= 0)
			die(to);
	close(in);
	close(out);
}

__attribute__((noreturn)) static void exec_child(const char *path, int fd, unsigned long life_ms)
{
	char life[24], notify[8];
	char *const argv[] = { strdup(path), life, notify, NULL };

	snprintf(life, sizeof(life), "%lu", life_ms);
	snprintf(notify, sizeof(notify), "%d", CHILD_NOTIFY_FD);
	/* dup2() onto itself would leave close-on-exec set */
	if (fd == CHILD_NOTIFY_FD)
		fcntl(fd, F_SETFD, 0);
	else
		dup2(fd, CHILD_NOTIFY_FD);
	execv(path, argv);
	_exit(127);
}

static void start_child(struct storm *s, struct child *c)
{
	unsigned long nr = s->nr_started++;
	int fds[2];

	c->binary = &s->binaries[nr % s->nr_binaries];
	c->is_unlinked = nr % UNLINK_EVERY == 0;
	c->running_ns = 0;
	if (c->is_unlinked) {
		snprintf(c->path, sizeof(c->path), "%s.copy-%lu", s->truth_path, nr);
		copy_binary(c->binary->path, c->path);
	} else {
		snprintf(c->path, sizeof(c->path), "%s", c->binary->path);
	}
	if (pipe2(fds, O_CLOEXEC) < 0)
		die("pipe");
	c->start_ns = clock_ns(CLOCK_MONOTONIC);
	c->pid = fork();
	if (c->pid < 0)
		die("fork");
	if (c->pid == 0)
		exec_child(c->path, fds[1], LIFE_MIN_MS + nr * 7 % LIFE_SPREAD_MS);
	close(fds[1]);
	c->fd = fds[0];
	s->nr_running++;
}

static void child_runs(struct child *c)
{
	c->running_ns = clock_ns(CLOCK_MONOTONIC);
	if (c->is_unlinked && unlink(c->path) < 0)
		die(c->path);
}

static void child_ended(struct storm *s, struct child *c)
{
	int status;

	if (waitpid(c->pid, &status, 0) != c->pid)
		die("waitpid");
	if (!c->running_ns && c->is_unlinked)
		unlink(c->path);
	if (!c->running_ns || status)
		s->nr_failed++;
	fprintf(s->truth, "%d %s %s %s %llu %llu %llu %s\n", c->pid, c->path, c->binary->build_id,
		c->binary->variant, (unsigned long long)c->start_ns,
		(unsigned long long)c->running_ns, (unsigned long long)clock_ns(CLOCK_MONOTONIC),
		c->is_unlinked ? "unlinked" : "kept");
	close(c->fd);
	c->pid = 0;
	s->nr_running--;
}

static void wait_for_news(struct storm *s)
{
	struct pollfd polls[PARALLEL_MAX];
	char byte;

	for (size_t i = 0; i < s->nr_slots; i++)
		polls[i] = (struct pollfd){
			.fd = s->children[i].pid ? s->children[i].fd : -1,
			.events = POLLIN,
		};
	if (poll(polls, s->nr_slots, -1) < 0)
		die("poll");
	for (size_t i = 0; i < s->nr_slots; i++) {
		if (!polls[i].revents)
			continue;
		if (read(polls[i].fd, &byte, 1) == 1)
			child_runs(&s->children[i]);
		else
			child_ended(s, &s->children[i]);
	}
}

static void run_all(struct storm *s, unsigned long count)
{
	while (s->nr_started < count || s->nr_running) {
		for (size_t i = 0; i < s->nr_slots && s->nr_started < count; i++)
			if (!s->children[i].pid)
				start_child(s, &s->children[i]);
		wait_for_news(s);
	}
}

int main(int argc, char **argv)
{
	static struct storm s;
	unsigned long count = arg_number(argc, argv, 1, 0);

	s.nr_slots = arg_number(argc, argv, 2, 0);
	if (argc < 5 || !s.nr_slots || s.nr_slots > PARALLEL_MAX || argc - 4 > BINARIES_MAX) {
		fputs("usage: storm COUNT PARALLEL TRUTH BINARY...\n", stderr);
		return 2;
	}
	for (int i = 4; i < argc; i++)
		add_binary(&s, argv[i]);
	s.truth_path = argv[3];
	s.truth = fopen(s.truth_path, "we");
	if (!s.truth)
		die(s.truth_path);
	run_all(&s, count);
	if (fclose(s.truth))
		die(s.truth_path);
	printf("processes %lu failed %lu\n", s.nr_started, s.nr_failed);
	return s.nr_failed != 0;
}
