/* SPDX-License-Identifier: Apache-2.0 */
/* Names and symbols as real programs have them. */
#include "agent/wait_code.h"

#include "tap.h"

static const char *const codes[] = { "scheduler", "system", "interpreter", "runtime", "own" };

static void check(const char *path, const char *symbol, const char *name, enum wait_code expected)
{
	enum wait_code code = wait_code_of(PROFILE_MAPPING_FILE, path, symbol, name);

	ok(code == expected, "%s in %s is %s: %s", name, path, codes[expected], codes[code]);
}

static void check_kind(enum profile_mapping_kind kind, const char *name, enum wait_code expected)
{
	enum wait_code code = wait_code_of(kind, "", name, name);

	ok(code == expected, "%s is %s: %s", name, codes[expected], codes[code]);
}

static void test_libraries(void)
{
	check("/lib/x86_64-linux-gnu/libc.so.6", "read", "read", WAIT_CODE_SYSTEM);
	check("/lib/libpthread-2.31.so", "sem_wait", "sem_wait", WAIT_CODE_SYSTEM);
	check("/lib/ld-musl-x86_64.so.1", "poll", "poll", WAIT_CODE_SYSTEM);
	check("/usr/lib/libcurl.so.4", "read", "read", WAIT_CODE_OWN);
	check("/usr/lib/libstdc++.so.6.0.33", "_ZNSt6thread4joinEv", "std::thread::join()",
	      WAIT_CODE_RUNTIME);
	check("/a/prog", "_start", "_start", WAIT_CODE_SYSTEM);
	check("/a/prog", "_start_it", "_start_it", WAIT_CODE_OWN);
	check("/usr/bin/node", "uv__io_poll", "uv__io_poll", WAIT_CODE_RUNTIME);
}

static void test_kernel(void)
{
	check_kind(PROFILE_MAPPING_KERNEL, "__schedule", WAIT_CODE_SCHEDULER);
	check_kind(PROFILE_MAPPING_KERNEL, "schedule_timeout", WAIT_CODE_SCHEDULER);
	check_kind(PROFILE_MAPPING_KERNEL, "worker_thread", WAIT_CODE_SYSTEM);
	check_kind(PROFILE_MAPPING_VDSO, "__vdso_gettimeofday", WAIT_CODE_SYSTEM);
}

static void test_go(void)
{
	check("/a/prog", "runtime.futexsleep", "runtime.futexsleep", WAIT_CODE_SYSTEM);
	check("/a/prog", "runtime.notetsleepg", "runtime.notetsleepg", WAIT_CODE_SYSTEM);
	check("/a/prog", "runtime.findRunnable", "runtime.findRunnable", WAIT_CODE_RUNTIME);
	check("/a/prog", "internal/poll.(*FD).Fsync", "internal/poll.(*FD).Fsync",
	      WAIT_CODE_RUNTIME);
	check("/a/prog", "syscall.Syscall", "syscall.Syscall", WAIT_CODE_RUNTIME);
	check("/a/prog", "os.(*File).Sync", "os.(*File).Sync", WAIT_CODE_OWN);
	check("/a/prog", "main.main", "main.main", WAIT_CODE_OWN);
}

static void test_cpp(void)
{
	check("/a/prog",
	      "_ZNSt18condition_variable4waitIZ4workvEUlvE_EEvRSt11unique_lockISt5mutexET_",
	      "void "
	      "std::condition_variable::wait<work()::{lambda()#1}>(std::unique_lock<std::mutex>&, "
	      "…)",
	      WAIT_CODE_RUNTIME);
	check("/a/prog", "_ZSt4findIPKiiET_S2_S2_RKT0_", "int const* std::find<int const*, int>(…)",
	      WAIT_CODE_RUNTIME);
	check("/a/prog", "_ZN3app4makeI3JobEESt10unique_ptrIT_E",
	      "std::unique_ptr<Job> app::make<Job>()", WAIT_CODE_OWN);
	check("/a/prog", "_ZN3app3runEv", "app::run()", WAIT_CODE_OWN);
}

static void test_rust(void)
{
	check("/a/prog", "_ZN3std3sys3pal4unix5futex10futex_wait17h0123456789abcdefE",
	      "std::sys::pal::unix::futex::futex_wait", WAIT_CODE_SYSTEM);
	check("/a/prog", "_RNvMNtCs1_3std6threadNtB2_6Thread4park", "<std::thread::Thread>::park",
	      WAIT_CODE_RUNTIME);
	check("/a/prog", "_ZN4core3ops8function6FnOnce9call_once17h0123456789abcdefE",
	      "core::ops::function::FnOnce::call_once", WAIT_CODE_RUNTIME);
	check("/a/prog", "_RNvCs1_4prog4main", "prog::main", WAIT_CODE_OWN);
	check("/a/prog", "_ZN4prog7wait_cv17h0123456789abcdefE", "prog::wait_cv", WAIT_CODE_OWN);
}

static void test_java(void)
{
	const char *vm = "/usr/lib/jvm/java-17/lib/server/libjvm.so";

	check(vm, "_ZN2os15PlatformMonitor4waitEl", "os::PlatformMonitor::wait(long)",
	      WAIT_CODE_SYSTEM);
	check(vm, "_ZN12CompileQueue3getEv", "CompileQueue::get()", WAIT_CODE_RUNTIME);
	check("/a/prog", "_ZN2os4waitEv", "os::wait()", WAIT_CODE_OWN);
	check_kind(PROFILE_MAPPING_JIT, "Interpreter", WAIT_CODE_RUNTIME);
	check_kind(PROFILE_MAPPING_JIT, "StubRoutines (1)", WAIT_CODE_RUNTIME);
	check_kind(PROFILE_MAPPING_JIT, "void jdk.internal.misc.Unsafe.park(boolean, long)",
		   WAIT_CODE_RUNTIME);
	check_kind(PROFILE_MAPPING_JIT, "void app.Pool.take(java.lang.Object.waiter)",
		   WAIT_CODE_OWN);
}

static void test_python(void)
{
	check("/usr/bin/python3.11", "pysleep", "pysleep", WAIT_CODE_INTERPRETER);
	check("/usr/lib/libpython3.12.so.1.0", "acquire_timed", "acquire_timed",
	      WAIT_CODE_INTERPRETER);
	check("/usr/lib/python3/dist-packages/_fast.cpython-311-x86_64-linux-gnu.so", "wait",
	      "wait", WAIT_CODE_OWN);
	check_kind(PROFILE_MAPPING_JIT, "hold", WAIT_CODE_OWN);
}

int main(void)
{
	test_libraries();
	test_kernel();
	test_go();
	test_cpp();
	test_rust();
	test_java();
	test_python();
	return tap_done();
}
