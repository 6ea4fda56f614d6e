/* SPDX-License-Identifier: Apache-2.0 */
/* Reuses answers that earlier models of the session got for the addresses of this one. */
#ifndef NAMES_NAMING_KNOWN_H
#define NAMES_NAMING_KNOWN_H

#include "names/naming_plan.h"
#include "names/shared_names.h"

/* Marks the items of a plan whose answers are known, and need not be resolved. Called before any
 * batch is run. */
void naming_known_find(struct naming_env *env, struct naming_plan *plan);

/* Keeps the answers of a batch for the next model, except those that another attempt might
 * improve. */
void naming_known_keep(struct naming_env *env, struct naming_batch *b);

/* Called when all batches are applied. */
void naming_known_end(struct naming_env *env);

#endif
