/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tracer process. It is forked from a process that may have threads, so nothing here allocates,
 * takes a lock or logs. It knows nothing of what is done to a target, only how.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/kcmp.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "inject/tracee.h"
#include "inject/tracer_wire.h"
#include "proc/worker.h"

struct server {
	int socket_fd, proc_fd;
	int memory_fd; /* of a target; -1: none */
	struct tracee tracee;
	struct tracer_request rq;
	struct tracer_reply reply;
};

static void note_view(struct server *s)
{
	const struct thread_state *st = &s->tracee.state;

	s->reply.view = (struct thread_view){
		.pc = st->pc,
		.sp = st->sp,
		.sigmask = st->sigmask,
		.place = st->place,
		.syscall_nr = st->syscall_nr,
		.syscall_arg = st->syscall_arg,
		.has_obstacle = st->obstacle != NULL,
		.must_restart = st->must_restart,
	};
}

static int finish_syscall(struct server *s)
{
	int r = tracee_finish_syscall(&s->tracee, s->rq.deadline_ns);

	note_view(s);
	return r;
}

static int stop(struct server *s)
{
	int r = tracee_stop(&s->tracee, s->rq.pid, s->rq.other, s->rq.deadline_ns);

	if (r == 0)
		r = thread_state_read(s->tracee.tid, &s->tracee.state);
	note_view(s);
	return r;
}

static int call(struct server *s)
{
	long value;
	int r = tracee_call(&s->tracee, &s->rq.call, s->rq.deadline_ns, &value);

	s->reply.value = value;
	return r;
}

static void close_memory(struct server *s)
{
	if (s->memory_fd >= 0)
		close(s->memory_fd);
	s->memory_fd = -1;
}

static int open_memory(struct server *s)
{
	close_memory(s);
	s->memory_fd = openat(s->proc_fd, s->rq.path, O_RDWR | O_CLOEXEC);
	return s->memory_fd < 0 ? -errno : 0;
}

static int write_memory(struct server *s)
{
	ssize_t n = pwrite(s->memory_fd, s->rq.bytes, s->rq.nr_bytes, (off_t)s->rq.addr);
	int r = n < 0 ? -errno : (uint64_t)n == s->rq.nr_bytes ? 0 : -EFAULT;

	close_memory(s);
	return r;
}

static int shares_memory(const struct server *s)
{
	long r = syscall(SYS_kcmp, s->rq.pid, s->rq.other, KCMP_VM, 0, 0);

	return r < 0 ? -errno : r == 0;
}

static int serve_one(struct server *s)
{
	switch (s->rq.op) {
	case TRACER_STOP:
		return stop(s);
	case TRACER_RESTART:
		return thread_state_set_regs(s->tracee.tid, &s->tracee.state.regs);
	case TRACER_FINISH_SYSCALL:
		return finish_syscall(s);
	case TRACER_CALL:
		return call(s);
	case TRACER_POKE:
		return tracee_poke(&s->tracee, s->rq.addr, s->rq.bytes, s->rq.nr_bytes);
	case TRACER_LET_GO:
		return tracee_let_go(&s->tracee) ? 0 : -EBUSY;
	case TRACER_OPEN_MEMORY:
		return open_memory(s);
	case TRACER_WRITE_MEMORY:
		return write_memory(s);
	case TRACER_SHARES_MEMORY:
		return shares_memory(s);
	default:
		return -EINVAL;
	}
}

static bool receive(struct server *s)
{
	ssize_t n = recv(s->socket_fd, &s->rq, sizeof(s->rq), 0);

	return n >= (ssize_t)TRACER_REQUEST_BYTES(0) &&
	       (size_t)n == TRACER_REQUEST_BYTES(s->rq.nr_bytes);
}

/* Ends with the socket, or because it cannot let go of a thread; then the kernel does. */
static void serve(int socket_fd, int proc_fd)
{
	struct server *s =
		mmap(NULL, sizeof(*s), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	bool goes_on = true;

	if (s == MAP_FAILED)
		return;
	s->socket_fd = socket_fd;
	s->proc_fd = proc_fd;
	s->memory_fd = -1;
	while (goes_on && receive(s)) {
		s->reply = (struct tracer_reply){ 0 };
		s->reply.result = serve_one(s);
		goes_on = s->rq.op != TRACER_LET_GO || s->reply.result == 0;
		if (worker_send(s->socket_fd, &s->reply, sizeof(s->reply), -1, 0) < 0)
			break;
	}
}

/* CAP_DAC_OVERRIDE: to open the memory of another user's process. */
static const uint8_t kept_caps[] = { CAP_DAC_OVERRIDE, CAP_SYS_PTRACE };

const struct worker_role tracer_role = { .name = "perf-agent-call",
					 .caps = kept_caps,
					 .nr_caps = sizeof(kept_caps) / sizeof(kept_caps[0]),
					 .serve = serve };
