/* SPDX-License-Identifier: Apache-2.0 */
#include "proc/cgroup_path.h"

#include <string.h>

#define ID_DIGITS (CONTAINER_ID_SIZE - 1)
#define UUID_CHARS (POD_UID_SIZE - 1)
#define STATIC_UID_DIGITS 32
#define DELETED " (deleted)"

/* A part of a text. */
struct span {
	const char *at;
	size_t len;
};

static bool span_is(struct span s, const char *text)
{
	return s.len == strlen(text) && memcmp(s.at, text, s.len) == 0;
}

static bool has_prefix(struct span s, const char *prefix)
{
	return s.len >= strlen(prefix) && memcmp(s.at, prefix, strlen(prefix)) == 0;
}

static bool has_suffix(struct span s, const char *suffix)
{
	size_t len = strlen(suffix);

	return s.len >= len && memcmp(s.at + s.len - len, suffix, len) == 0;
}

static struct span without_prefix(struct span s, const char *prefix)
{
	size_t len = strlen(prefix);

	return has_prefix(s, prefix) ? (struct span){ s.at + len, s.len - len } : s;
}

static struct span without_suffix(struct span s, const char *suffix)
{
	return has_suffix(s, suffix) ? (struct span){ s.at, s.len - strlen(suffix) } : s;
}

static bool is_digit(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
}

static bool is_hex(struct span s)
{
	for (size_t i = 0; i < s.len; i++)
		if (!is_digit(s.at[i]))
			return false;
	return s.len > 0;
}

/* The next name of a path; false at the end. */
static bool next_name(struct span *path, struct span *ret_name)
{
	const char *slash;

	while (path->len && *path->at == '/')
		*path = (struct span){ path->at + 1, path->len - 1 };
	if (!path->len)
		return false;
	slash = memchr(path->at, '/', path->len);
	*ret_name = (struct span){ path->at, slash ? (size_t)(slash - path->at) : path->len };
	path->at += ret_name->len;
	path->len -= ret_name->len;
	return true;
}

/* ---- containers ---- */

static bool take_id(struct span s, char to[CONTAINER_ID_SIZE])
{
	if (s.len != ID_DIGITS || !is_hex(s))
		return false;
	memcpy(to, s.at, ID_DIGITS);
	to[ID_DIGITS] = '\0';
	return true;
}

/* A cgroup of one container: a scope of systemd with a runtime's prefix, or an ID by itself.
 * Monitors ("crio-conmon-<id>") run beside the container that they are named after. */
static bool take_container(struct span name, bool may_be_bare, char to[CONTAINER_ID_SIZE])
{
	static const char *const prefixes[] = { "cri-containerd-", "crio-",   "docker-",
						"libpod-payload-", "libpod-", "nerdctl-" };
	struct span id = without_suffix(name, ".scope");

	for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++)
		if (has_prefix(id, prefixes[i]))
			return take_id(without_prefix(id, prefixes[i]), to);
	return may_be_bare && take_id(name, to);
}

/* "<slice>:<prefix>:<id>": a path for systemd that was given to a runtime that makes directories. */
static bool take_colons(struct span name, struct span *ret_slice, char to[CONTAINER_ID_SIZE])
{
	const char *last = memrchr(name.at, ':', name.len), *first;

	if (!last)
		return false;
	first = memchr(name.at, ':', name.len);
	*ret_slice = (struct span){ name.at, (size_t)(first - name.at) };
	return first < last && has_suffix(*ret_slice, ".slice") &&
	       take_id((struct span){ last + 1, (size_t)(name.at + name.len - last - 1) }, to);
}

/* ---- pods ---- */

static bool is_uuid(struct span s, char separator)
{
	if (s.len != UUID_CHARS)
		return false;
	for (size_t i = 0; i < s.len; i++) {
		bool is_between = i == 8 || i == 13 || i == 18 || i == 23;

		if (is_between ? s.at[i] != separator : !is_digit(s.at[i]))
			return false;
	}
	return true;
}

static bool take_uid(struct span s, char to[POD_UID_SIZE])
{
	if (!is_uuid(s, '-') && !is_uuid(s, '_') && !(s.len == STATIC_UID_DIGITS && is_hex(s)))
		return false;
	for (size_t i = 0; i < s.len; i++)
		to[i] = s.at[i];
	to[s.len] = '\0';
	for (size_t i = 0; i < s.len; i++)
		if (to[i] == '_')
			to[i] = '-';
	return true;
}

/* "kubepods-burstable-pod<uid>.slice", possibly below the slice of another root. */
static bool take_pod_slice(struct span name, char to[POD_UID_SIZE])
{
	struct span s = without_suffix(name, ".slice");
	const char *pod = NULL;

	if (s.len == name.len || !memmem(s.at, s.len, "kubepods-", strlen("kubepods-")))
		return false;
	/* The UID has no 'p', so the last "-pod" begins it. */
	for (const char *at = s.at, *end = s.at + s.len;
	     (at = memmem(at, (size_t)(end - at), "-pod", strlen("-pod"))); at++)
		pod = at;
	if (!pod)
		return false;
	pod += strlen("-pod");
	return take_uid((struct span){ pod, (size_t)(s.at + s.len - pod) }, to);
}

static bool take_pod_directory(struct span name, char to[POD_UID_SIZE])
{
	return has_prefix(name, "pod") && take_uid(without_prefix(name, "pod"), to);
}

/* ---- a whole path ---- */

/* Where a walk along a path is. */
struct place {
	bool is_relative; /* the path leads upwards first: what is above is not seen */
	bool is_kubepods; /* below "kubepods", or may be */
	/* below what someone other than the node's runtimes may have created cgroups in */
	bool is_delegated;
	bool is_podman; /* an ID by itself is that of a pod of podman's */
};

/* containerd, where it makes directories for paths meant for systemd, makes them below itself. */
static bool is_delegation(struct span name)
{
	return span_is(name, "user.slice") || has_suffix(name, ".scope") ||
	       has_prefix(name, "lxc") ||
	       (has_suffix(name, ".service") && !span_is(name, "containerd.service"));
}

static bool is_service_class(struct span name)
{
	return span_is(name, "burstable") || span_is(name, "besteffort");
}

static void go_into(struct place *p, struct span name)
{
	p->is_delegated |= is_delegation(name);
	p->is_podman = span_is(name, "libpod_parent");
	if (span_is(name, "kubepods"))
		p->is_kubepods = true;
	else if (!is_service_class(name))
		p->is_relative = false; /* not what is right above the pods */
}

static bool take_pod(const struct place *p, struct span name, char to[POD_UID_SIZE])
{
	if (p->is_delegated)
		return false;
	return take_pod_slice(name, to) ||
	       ((p->is_kubepods || p->is_relative) && take_pod_directory(name, to));
}

static bool is_upwards(struct span name)
{
	return span_is(name, "..");
}

void cgroup_identify(const char *path, size_t len, struct cgroup_identity *ret_identity)
{
	struct cgroup_identity found = { { 0 } };
	struct span rest = { path, len }, name, slice;
	struct place at = { 0 };

	while (next_name(&rest, &name)) {
		if (is_upwards(name)) {
			at.is_relative = true;
			continue;
		}
		if (take_container(name, !at.is_podman, found.container_id))
			break;
		if (take_colons(name, &slice, found.container_id)) {
			if (!found.pod_uid[0])
				(void)take_pod(&at, slice, found.pod_uid);
			break;
		}
		if (!found.pod_uid[0])
			(void)take_pod(&at, name, found.pod_uid);
		go_into(&at, name);
	}
	*ret_identity = found;
}

enum cgroup_kin cgroup_kin(const char *path, size_t len)
{
	struct span rest = { path, len }, name;
	char id[CONTAINER_ID_SIZE];

	if (!next_name(&rest, &name) || !is_upwards(name))
		return CGROUP_OWN;
	if (!next_name(&rest, &name) || !take_container(name, true, id))
		return CGROUP_OUTSIDE;
	return CGROUP_SIBLING;
}

/* ---- the file ---- */

/* One line: "<hierarchy>:<controllers>:<path>". */
static bool parse_line(struct span line, bool *ret_is_v2, bool *ret_is_systemd,
		       struct span *ret_path)
{
	const char *end = line.at + line.len;
	const char *first = memchr(line.at, ':', line.len), *second;
	struct span controllers;

	if (!first)
		return false;
	second = memchr(first + 1, ':', (size_t)(end - first - 1));
	if (!second || second + 1 == end || second[1] != '/')
		return false;
	controllers = (struct span){ first + 1, (size_t)(second - first - 1) };
	*ret_is_v2 = controllers.len == 0;
	*ret_is_systemd = span_is(controllers, "name=systemd");
	*ret_path =
		without_suffix((struct span){ second + 1, (size_t)(end - second - 1) }, DELETED);
	return true;
}

enum {
	RANK_NONE,
	RANK_ROOT,
	RANK_PLACE,
	RANK_IDENTITY,
};

/* What a path says of a process, and in which hierarchy: more is better. */
static int rank_of(struct span path, bool is_v2, bool is_systemd)
{
	struct cgroup_identity identity;
	int rank = path.len > 1 ? RANK_PLACE : RANK_ROOT;

	cgroup_identify(path.at, path.len, &identity);
	if (identity.pod_uid[0] || identity.container_id[0])
		rank = RANK_IDENTITY;
	return 3 * rank + (is_v2 ? 2 : is_systemd);
}

bool cgroup_text_parse(const char *text, size_t len, struct cgroup_text *ret_text)
{
	const char *at = text, *end = text + len, *newline;
	struct cgroup_text found = { .is_v1_root = true };
	int best = RANK_NONE;

	for (; at < end && (newline = memchr(at, '\n', (size_t)(end - at))); at = newline + 1) {
		bool is_v2, is_systemd;
		struct span path;
		int rank;

		if (!parse_line((struct span){ at, (size_t)(newline - at) }, &is_v2, &is_systemd,
				&path))
			continue;
		found.has_v1 |= !is_v2;
		found.is_v1_root &= is_v2 || path.len == 1;
		rank = rank_of(path, is_v2, is_systemd);
		if (rank <= best)
			continue;
		best = rank;
		found.path = path.at;
		found.len = path.len;
	}
	if (best == RANK_NONE)
		return false;
	*ret_text = found;
	return true;
}
