/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Profiles of this process by itself, one at a time, in a session and on a thread of their own. That thread keeps the
 * capabilities that a capture needs, and gets nothing from a peer but a number of seconds.
 */
#ifndef HTTP_SELF_PROFILE_H
#define HTTP_SELF_PROFILE_H

#include <perfagent/perfagent.h>

#include "base/buf.h"

#define SELF_PROFILE_MAX_SECONDS 300u
#define SELF_PROFILE_MAX_BYTES (16u << 20)

struct self_profile;

/* Starts the thread, with the capabilities of the caller. -ENOMEM, -EAGAIN, -EMFILE. */
int self_profile_new(struct self_profile **ret_profile);

/* Readable once a profile can be taken. */
int self_profile_fd(const struct self_profile *p);

/* -EBUSY: the one before has not ended, although it may have been cancelled; -EAGAIN: self_profile_pause_s() is not
 * over, so that peers who ask again and again cost little. */
int self_profile_start(struct self_profile *p, unsigned int seconds);

/* How long the next one has to wait, rounded up to seconds: until ten times the CPU time that this process spent
 * during the last one has passed since that began, and at least a second and at most a minute since it ended. */
unsigned int self_profile_pause_s(struct self_profile *p);

/* Ends the one that runs, which needs a moment; it cannot be taken any more. */
void self_profile_cancel(struct self_profile *p);

/* The result of the one that ended: 0, and *ret_bytes is the caller's; a negative errno, with the reason in err; or
 * -EAGAIN: there is nothing to take. */
int self_profile_take(struct self_profile *p, struct buf *ret_bytes, struct pa_error *err);

/* Accepts NULL. Cancels what runs, and waits for its end. */
void self_profile_free(struct self_profile *p);

#endif
