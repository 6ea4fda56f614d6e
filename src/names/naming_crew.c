/* SPDX-License-Identifier: Apache-2.0 */
#include "names/naming_crew.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>

struct naming_crew {
	struct naming_env *env;       /* borrowed */
	struct naming_batch *batches; /* borrowed; each is used by one thread until it is done */
	const uint32_t *order;        /* borrowed; the order in which batches are started */
	uint32_t nr;                  /* how many are to be run */
	atomic_uint nr_begun;

	/* Used by the creating thread only. */
	pthread_t threads[NAMING_MAX_WORKERS];
	unsigned int nr_threads;

	pthread_mutex_t lock; /* protects the members below */
	pthread_cond_t changed;
	bool *is_done; /* owned; by batch */
};

static void *worker_thread(void *arg)
{
	struct naming_crew *crew = arg;
	uint32_t nr;

	while ((nr = atomic_fetch_add(&crew->nr_begun, 1)) < crew->nr) {
		uint32_t i = crew->order[nr];

		naming_batch_run(crew->env, &crew->batches[i]);
		pthread_mutex_lock(&crew->lock);
		crew->is_done[i] = true;
		pthread_cond_broadcast(&crew->changed);
		pthread_mutex_unlock(&crew->lock);
	}
	return NULL;
}

/* Starts threads with all signals blocked, because the program that uses the library handles
 * them. */
static void start_threads(struct naming_crew *crew, unsigned int nr)
{
	sigset_t all, before;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	while (crew->nr_threads < nr &&
	       pthread_create(&crew->threads[crew->nr_threads], NULL, worker_thread, crew) == 0)
		crew->nr_threads++;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static unsigned int limit_workers(unsigned int wanted, uint32_t nr_batches)
{
	long online = wanted ? (long)wanted : sysconf(_SC_NPROCESSORS_ONLN);
	uint64_t nr = online > 0 ? (uint64_t)online : 1;

	if (nr > NAMING_MAX_WORKERS)
		nr = NAMING_MAX_WORKERS;
	return (unsigned int)(nr < nr_batches ? nr : nr_batches);
}

struct naming_crew *naming_crew_free(struct naming_crew *crew)
{
	if (!crew)
		return NULL;
	atomic_store(&crew->env->is_over, true);
	for (unsigned int i = 0; i < crew->nr_threads; i++)
		pthread_join(crew->threads[i], NULL);
	pthread_cond_destroy(&crew->changed);
	pthread_mutex_destroy(&crew->lock);
	atomic_store(&crew->env->is_over, false);
	free(crew->is_done);
	free(crew);
	return NULL;
}

int naming_crew_new(struct naming_env *env, const struct naming_plan *plan, const uint32_t *order,
		    uint32_t nr, struct naming_crew **ret_crew)
{
	_cleanup_(naming_crew_freep) struct naming_crew *crew = calloc(1, sizeof(*crew));
	unsigned int nr_workers;

	if (!crew)
		return -ENOMEM;
	crew->env = env;
	crew->batches = plan->batches;
	crew->order = order;
	crew->nr = nr;
	pthread_mutex_init(&crew->lock, NULL);
	pthread_cond_init(&crew->changed, NULL);
	crew->is_done = calloc((size_t)plan->nr_batches + 1, sizeof(*crew->is_done));
	if (!crew->is_done)
		return -ENOMEM;
	nr_workers = limit_workers(env->job->nr_workers, nr);
	if (nr_workers > 1)
		start_threads(crew, nr_workers);
	*ret_crew = TAKE(crew);
	return 0;
}

void naming_crew_wait(struct naming_crew *crew, uint32_t i)
{
	if (!crew->nr_threads) {
		naming_batch_run(crew->env, &crew->batches[i]);
		return;
	}
	pthread_mutex_lock(&crew->lock);
	while (!crew->is_done[i])
		pthread_cond_wait(&crew->changed, &crew->lock);
	pthread_mutex_unlock(&crew->lock);
}
