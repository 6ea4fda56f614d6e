/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process that makes calls which a target can block forever, for one owner, and can be abandoned.
 * A thread would not do: one that sleeps in the kernel keeps its process from ending, even by
 * SIGKILL.
 *
 * A spawner is forked early, so that it is small, and forks the workers one after the other: an
 * abandoned worker holds neither the owner's descriptors nor memory that the owner has got since.
 * Spawner and worker end with their owner, and signal nothing when they end: the host of the library
 * may wait for its own children. The caller serialises all calls.
 */
#ifndef PROC_WORKER_H
#define PROC_WORKER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* What the workers of an owner do. */
struct worker_role {
	const char *name;    /* of the processes; at most 15 bytes */
	const uint8_t *caps; /* capabilities that they keep */
	size_t nr_caps;
	/* Runs in the new process, and returns when the other end of the socket is closed. The process
	 * is forked from one that may have threads, so it does not allocate, take a lock or log. */
	void (*serve)(int socket_fd, int proc_fd);
};

struct worker {
	const struct worker_role *role; /* borrowed, as long as the worker exists */
	int proc_fd;                    /* borrowed, likewise */
	int control_fd;                 /* owned; to the spawner; -1: none */
	pid_t spawner;                  /* child; 0: none */
	int socket_fd;                  /* owned; a SOCK_SEQPACKET to the worker; -1: none */
	pid_t pid;                      /* of the worker; 0: none */
};

#define WORKER_NONE                                                                                \
	{                                                                                          \
		.proc_fd = -1, .control_fd = -1, .socket_fd = -1                                   \
	}

/* Starts a worker. A spawner that was killed is replaced. -EAGAIN, -ENOMEM …: there is none. */
int worker_start(struct worker *w);

/* Leaves the current worker, if there is one. It is killed with the next start, or with the owner. */
void worker_drop(struct worker *w);

/* Leaves the current worker, and has it killed now. */
void worker_kill(struct worker *w);

/* Ends the workers and the spawner. */
void worker_stop(struct worker *w);

/* Sends a packet with a descriptor (-1: none). As sendmsg(); no SIGPIPE. */
ssize_t worker_send(int socket_fd, const void *bytes, size_t len, int fd, int flags);

/* True if something can be received within that time. */
bool worker_is_readable(int fd, uint64_t timeout_ns);

/* True if the worker has not answered and sleeps, in two looks: it does not merely wait for a CPU. */
bool worker_has_hung(const struct worker *w);

/* CPU time of the worker; 0: unknown. */
uint64_t worker_run_ns(const struct worker *w);

/* ---- private to worker.c and worker_spawner.c ---- */

/* One byte; WORKER_START comes with the worker's socket, and is answered with the PID. */
enum worker_order {
	WORKER_END, /* is not sent */
	WORKER_START,
	WORKER_KILL,
};

/* Runs in the new process, never returns. control_fd: where the owner's orders come from. */
_Noreturn void worker_spawner_main(const struct worker_role *role, int control_fd, int proc_fd);

#endif
