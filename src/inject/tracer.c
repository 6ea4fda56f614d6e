/* SPDX-License-Identifier: Apache-2.0 */
#include "inject/tracer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "inject/tracer_wire.h"
#include "proc/worker.h"

/* After the deadline of a request, which the tracer keeps itself unless it hangs. */
#define HUNG_NS (2 * NS_PER_S)
#define LONGEST_NS (4 * NS_PER_S) /* even if it runs, or waits for a CPU */
#define OVER_NS (100 * NS_PER_MS) /* when nothing is waited for any more */
#define LOOK_NS (20 * NS_PER_MS)

struct tracer {
	struct worker worker;
	int proc_fd;                 /* owned */
	const struct cancel *over;   /* borrowed; or NULL */
	bool has_tracee, has_memory; /* of this process */
	struct tracer_stats stats;
	struct tracer_request rq;
	struct tracer_reply reply;
};

/* ---- requests ---- */

static void leave_process(struct tracer *t)
{
	worker_kill(&t->worker);
	t->has_tracee = t->has_memory = false;
}

static bool is_given_up(const struct tracer *t, uint64_t deadline_ns)
{
	uint64_t now_ns = clock_mono_ns();
	uint64_t late_ns = now_ns > deadline_ns ? now_ns - deadline_ns : 0;

	if (late_ns > LONGEST_NS || (late_ns > OVER_NS && cancel_is_asked(t->over)))
		return true;
	return late_ns > HUNG_NS && worker_has_hung(&t->worker);
}

static int await_reply(struct tracer *t)
{
	uint64_t now_ns = clock_mono_ns();
	uint64_t deadline_ns = t->rq.deadline_ns > now_ns ? t->rq.deadline_ns : now_ns;

	while (!worker_is_readable(t->worker.socket_fd, LOOK_NS))
		if (is_given_up(t, deadline_ns) && !worker_is_readable(t->worker.socket_fd, 0)) {
			t->stats.nr_abandoned++;
			return -EHOSTDOWN;
		}
	if (recv(t->worker.socket_fd, &t->reply, sizeof(t->reply), MSG_DONTWAIT) ==
	    sizeof(t->reply))
		return t->reply.result;
	t->stats.nr_killed++;
	return -ECONNRESET;
}

static bool is_process_lost(int r)
{
	return r == -EHOSTDOWN || r == -ECONNRESET;
}

/* A process that was killed since the last request has done nothing of this one. */
static int send_request(struct tracer *t)
{
	size_t n = TRACER_REQUEST_BYTES(t->rq.nr_bytes);
	bool has_state = t->has_tracee || t->has_memory;
	int r;

	if (t->worker.socket_fd >= 0 &&
	    worker_send(t->worker.socket_fd, &t->rq, n, -1, MSG_DONTWAIT) >= 0)
		return 0;
	t->stats.nr_killed += t->worker.socket_fd >= 0;
	leave_process(t);
	if (has_state)
		return -ECONNRESET;
	r = worker_start(&t->worker);
	if (r < 0)
		return r;
	return worker_send(t->worker.socket_fd, &t->rq, n, -1, MSG_DONTWAIT) < 0 ? -EAGAIN : 0;
}

static int ask_process(struct tracer *t)
{
	int r = send_request(t);

	if (r < 0)
		return r;
	r = await_reply(t);
	if (is_process_lost(r))
		leave_process(t);
	return r;
}

static void begin_request(struct tracer *t, enum tracer_op op, uint64_t deadline_ns)
{
	t->rq.op = op;
	t->rq.deadline_ns = deadline_ns;
	t->rq.nr_bytes = 0;
}

/* What concerns the stopped thread. */
static int ask_of_tracee(struct tracer *t)
{
	return t->has_tracee ? ask_process(t) : -ECONNRESET;
}

int tracer_stop(struct tracer *t, pid_t pid, pid_t tid, uint64_t deadline_ns,
		struct thread_view *ret_view)
{
	int r;

	begin_request(t, TRACER_STOP, deadline_ns);
	t->rq.pid = pid;
	t->rq.other = tid;
	r = ask_process(t);
	t->has_tracee = t->worker.socket_fd >= 0; /* perhaps, also after an error */
	if (r == 0)
		*ret_view = t->reply.view;
	return r;
}

int tracer_restart(struct tracer *t)
{
	begin_request(t, TRACER_RESTART, 0);
	return ask_of_tracee(t);
}

int tracer_finish_syscall(struct tracer *t, uint64_t deadline_ns, struct thread_view *ret_view)
{
	int r;

	begin_request(t, TRACER_FINISH_SYSCALL, deadline_ns);
	r = ask_of_tracee(t);
	if (r == 0)
		*ret_view = t->reply.view;
	return r;
}

int tracer_call(struct tracer *t, const struct thread_call *call, uint64_t deadline_ns,
		long *ret_result)
{
	int r;

	begin_request(t, TRACER_CALL, deadline_ns);
	t->rq.call = *call;
	r = ask_of_tracee(t);
	if (r == 0)
		*ret_result = (long)t->reply.value;
	return r;
}

int tracer_poke(struct tracer *t, uint64_t addr, const void *bytes, size_t n)
{
	begin_request(t, TRACER_POKE, 0);
	if (n > sizeof(t->rq.bytes))
		return -E2BIG;
	t->rq.addr = addr;
	t->rq.nr_bytes = n;
	memcpy(t->rq.bytes, bytes, n);
	return ask_of_tracee(t);
}

void tracer_let_go(struct tracer *t)
{
	if (!t->has_tracee)
		return;
	begin_request(t, TRACER_LET_GO, 0);
	if (ask_process(t) == -EBUSY)
		worker_drop(&t->worker); /* it ends by itself */
	t->has_tracee = false;
}

int tracer_open_memory(struct tracer *t, pid_t pid)
{
	int r;

	begin_request(t, TRACER_OPEN_MEMORY, 0);
	(void)snprintf(t->rq.path, sizeof(t->rq.path), "%d/mem", (int)pid);
	r = ask_process(t);
	t->has_memory = r == 0;
	return r;
}

int tracer_write_memory(struct tracer *t, uint64_t addr, uint32_t value)
{
	int r;

	begin_request(t, TRACER_WRITE_MEMORY, 0);
	t->rq.addr = addr;
	t->rq.nr_bytes = sizeof(value);
	memcpy(t->rq.bytes, &value, sizeof(value));
	r = t->has_memory ? ask_process(t) : -ECONNRESET;
	t->has_memory = false;
	return r;
}

int tracer_shares_memory(struct tracer *t, pid_t a, pid_t b)
{
	begin_request(t, TRACER_SHARES_MEMORY, 0);
	t->rq.pid = a;
	t->rq.other = b;
	return ask_process(t);
}

struct tracer_stats tracer_stats(const struct tracer *t)
{
	return t->stats;
}

pid_t tracer_pid(const struct tracer *t)
{
	return t->worker.pid;
}

/* ---- creating and freeing ---- */

int tracer_new(int proc_fd, const struct cancel *over, struct tracer **ret_tracer)
{
	_cleanup_(tracer_freep) struct tracer *t = calloc(1, sizeof(*t));
	int r;

	if (!t)
		return -ENOMEM;
	t->worker = (struct worker)WORKER_NONE;
	t->over = over;
	t->proc_fd = fcntl(proc_fd, F_DUPFD_CLOEXEC, 0);
	if (t->proc_fd < 0)
		return -errno;
	t->worker.role = &tracer_role;
	t->worker.proc_fd = t->proc_fd;
	r = worker_start(&t->worker);
	if (r < 0)
		return r;
	*ret_tracer = TAKE(t);
	return 0;
}

struct tracer *tracer_free(struct tracer *t)
{
	if (!t)
		return NULL;
	worker_stop(&t->worker);
	closep(&t->proc_fd);
	free(t);
	return NULL;
}
