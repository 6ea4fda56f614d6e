/* SPDX-License-Identifier: Apache-2.0 */
#include "inject/python_switch.h"

static const char *const outcome_keys[] = {
#define X(name, key, text, fix) [PYTHON_##name] = (key),
#include "inject/python_outcomes.def"
#undef X
};
static const char *const outcome_texts[] = {
#define X(name, key, text, fix) [PYTHON_##name] = (text),
#include "inject/python_outcomes.def"
#undef X
};
static const char *const outcome_fixes[] = {
#define X(name, key, text, fix) [PYTHON_##name] = (fix),
#include "inject/python_outcomes.def"
#undef X
};

const char *python_outcome_key(enum python_outcome o)
{
	return outcome_keys[o];
}

const char *python_outcome_text(enum python_outcome o)
{
	return outcome_texts[o];
}

const char *python_outcome_fix(enum python_outcome o)
{
	return outcome_fixes[o];
}
