/* SPDX-License-Identifier: Apache-2.0 */
#include <linux/capability.h>
#include <string.h>

#include "collect/features.h"
#include "collect/privileges.h"
#include "tap.h"

#define USUAL                                                                                      \
	"cap_bpf,cap_perfmon,cap_sys_ptrace,cap_checkpoint_restore,cap_dac_read_search,cap_syslog"

static const struct machine usual = { .kernel_version = KERNEL_VERSION_OF(6, 1),
				      .is_memlock_limited = true };

static bool needs(const struct machine *m, int cap)
{
	size_t nr;
	const struct privilege *p = privileges(&nr);

	for (size_t i = 0; i < nr; i++)
		if (p[i].cap == cap)
			return privilege_is_needed(&p[i], m);
	return false;
}

static void test_needed(void)
{
	struct machine m = usual;

	ok(needs(&m, CAP_BPF), "CAP_BPF is needed everywhere");
	ok(!needs(&m, CAP_SYS_ADMIN), "CAP_SYS_ADMIN is normally not needed");
	m.is_perf_closed = true;
	ok(needs(&m, CAP_SYS_ADMIN), "CAP_SYS_ADMIN is needed if perf_event_paranoid is above 2");
	ok(!needs(&m, CAP_SYS_RESOURCE), "CAP_SYS_RESOURCE is not needed since 5.11");
	m.kernel_version = KERNEL_VERSION_OF(5, 10);
	ok(needs(&m, CAP_SYS_RESOURCE), "CAP_SYS_RESOURCE is needed before 5.11");
	m.is_memlock_limited = false;
	ok(!needs(&m, CAP_SYS_RESOURCE),
	   "CAP_SYS_RESOURCE is needed only if there is a memory lock limit");
}

static void command_is(const struct machine *m, const char *program, bool is_open,
		       const char *expected, const char *what)
{
	struct buf b = BUF_INIT(4096);

	must(privileges_setcap_command(m, program, is_open, &b) == 0);
	if (!ok(b.len == strlen(expected) && !memcmp(b.data, expected, b.len), "%s", what))
		printf("# '%.*s'\n", (int)b.len, b.data);
	buf_done(&b);
}

static void test_command(void)
{
	struct machine m = usual;

	command_is(&m, "/usr/bin/perf-agent", false,
		   "sudo setcap " USUAL "+ep '/usr/bin/perf-agent'",
		   "the usual capabilities in one command");
	command_is(&m, "/o'k/$x y", false, "sudo setcap " USUAL "+ep '/o'\\''k/$x y'",
		   "the path is quoted for a shell");
	command_is(&m, "/o'k", true,
		   "sudo groupadd -rf perf-agent && sudo chown root:perf-agent "
		   "'/o'\\''k' && sudo chmod 0750 '/o'\\''k' && sudo setcap " USUAL
		   "+ep '/o'\\''k'",
		   "a file that everybody may execute is left to a group first");
	m.is_perf_closed = true;
	command_is(&m, "x", false,
		   "sudo setcap cap_bpf,cap_perfmon,cap_sys_admin,cap_sys_ptrace,"
		   "cap_checkpoint_restore,cap_dac_read_search,cap_syslog+ep 'x'",
		   "the command contains the capabilities of this machine");
}

static void test_limit(void)
{
	struct buf b = BUF_INIT(20);

	ok(privileges_setcap_command(&usual, "x", false, &b) < 0,
	   "a buffer that is too small is an error");
	buf_done(&b);
}

int main(void)
{
	test_needed();
	test_command();
	test_limit();
	return tap_done();
}
