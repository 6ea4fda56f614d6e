/* SPDX-License-Identifier: Apache-2.0 */
/* Containers and pods by the lines that runtimes leave in /proc/<pid>/cgroup. */
#include <string.h>

#include "proc/cgroup_path.h"
#include "tap.h"

#define A "a1b2c3d4e5f60718293a4b5c6d7e8f90112233445566778899aabbccddeeff00"
#define B "0f1e2d3c4b5a69788796a5b4c3d2e1f00112233445566778899aabbccddeeff1"
#define UID "6f2c1d34-8a5e-4b7f-9c01-23456789abcd"
#define UID_ "6f2c1d34_8a5e_4b7f_9c01_23456789abcd"
#define STATIC "0b1c2d3e4f5061728394a5b6c7d8e9f0"
#define SLICES "/kubepods.slice/kubepods-burstable.slice/"

struct one {
	const char *what, *text, *path, *pod_uid, *container_id;
};

/* One line of v2, or of v1 with some hierarchy; the path is the line's own. */
#define V2(what, path, pod, id)                                                                    \
	{                                                                                          \
		what ", v2", "0::" path "\n", path, pod, id                                        \
	}
#define V1(what, path, pod, id)                                                                    \
	{                                                                                          \
		what ", v1", "4:memory:" path "\n", path, pod, id                                  \
	}

static const struct one lines[] = {
	/* Kubernetes, containerd */
	V2("containerd, systemd, burstable",
	   SLICES "kubepods-burstable-pod" UID_ ".slice/cri-containerd-" A ".scope", UID, A),
	V2("containerd, systemd, besteffort",
	   "/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod" UID_
	   ".slice/cri-containerd-" A ".scope",
	   UID, A),
	V2("containerd, systemd, guaranteed",
	   "/kubepods.slice/kubepods-pod" UID_ ".slice/cri-containerd-" A ".scope", UID, A),
	V2("containerd, systemd, static pod",
	   SLICES "kubepods-burstable-pod" STATIC ".slice/cri-containerd-" A ".scope", STATIC, A),
	V2("containerd, systemd, systemd inside",
	   SLICES "kubepods-burstable-pod" UID_ ".slice/cri-containerd-" A ".scope/init.scope", UID,
	   A),
	V2("containerd, systemd, service inside",
	   SLICES "kubepods-burstable-pod" UID_ ".slice/cri-containerd-" A
		  ".scope/system.slice/nginx.service",
	   UID, A),
	V2("containerd, cgroupfs, burstable", "/kubepods/burstable/pod" UID "/" A, UID, A),
	V2("containerd, cgroupfs, guaranteed", "/kubepods/pod" UID "/" A, UID, A),
	V1("containerd, cgroupfs, besteffort", "/kubepods/besteffort/pod" UID "/" A, UID, A),
	V1("containerd, cgroupfs, guaranteed", "/kubepods/pod" UID "/" A, UID, A),
	V1("containerd, cgroupfs, static pod", "/kubepods/burstable/pod" STATIC "/" A, STATIC, A),
	V1("containerd, systemd, burstable",
	   SLICES "kubepods-burstable-pod" UID_ ".slice/cri-containerd-" A ".scope", UID, A),
	V1("containerd makes directories, kubelet asks systemd",
	   "/system.slice/containerd.service/kubepods-burstable-pod" UID_
	   ".slice:cri-containerd:" A,
	   UID, A),
	V1("the same, at the top", "/kubepods-besteffort-pod" UID_ ".slice:cri-containerd:" A, UID,
	   A),
	V2("a pod's own cgroup", SLICES "kubepods-burstable-pod" UID_ ".slice", UID, ""),
	V2("kubelet with another root, systemd",
	   "/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-burstable.slice/"
	   "kubelet-kubepods-burstable-pod" UID_ ".slice/cri-containerd-" A ".scope",
	   UID, A),
	V2("kubelet with another root, cgroupfs", "/kubelet/kubepods/burstable/pod" UID "/" A, UID,
	   A),

	/* Kubernetes, CRI-O */
	V2("CRI-O, systemd", SLICES "kubepods-burstable-pod" UID_ ".slice/crio-" A ".scope", UID,
	   A),
	V2("CRI-O, systemd, crun",
	   SLICES "kubepods-burstable-pod" UID_ ".slice/crio-" A ".scope/container", UID, A),
	V2("CRI-O's monitor is in the pod, not the container",
	   SLICES "kubepods-burstable-pod" UID_ ".slice/crio-conmon-" A ".scope", UID, ""),
	V1("CRI-O, systemd", SLICES "kubepods-burstable-pod" UID_ ".slice/crio-" A ".scope", UID,
	   A),
	V1("CRI-O, cgroupfs", "/kubepods/besteffort/pod" UID "/crio-" A, UID, A),
	V2("CRI-O, systemd, guaranteed static pod",
	   "/kubepods.slice/kubepods-pod" STATIC ".slice/crio-" A ".scope", STATIC, A),

	/* Kubernetes, docker */
	V2("cri-dockerd, systemd", SLICES "kubepods-burstable-pod" UID_ ".slice/docker-" A ".scope",
	   UID, A),
	V1("dockershim, cgroupfs", "/kubepods/burstable/pod" UID "/" A, UID, A),
	V1("dockershim, systemd",
	   "/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod" UID_
	   ".slice/docker-" A ".scope",
	   UID, A),

	/* docker */
	V2("docker, systemd", "/system.slice/docker-" A ".scope", "", A),
	V2("docker, systemd, a service inside",
	   "/system.slice/docker-" A ".scope/system.slice/sshd.service", "", A),
	V2("docker, cgroupfs", "/docker/" A, "", A),
	V1("docker, cgroupfs", "/docker/" A, "", A),
	V1("docker, systemd", "/system.slice/docker-" A ".scope", "", A),
	V1("docker in docker: the outer one", "/docker/" A "/docker/" B, "", A),
	V2("docker with a parent", "/batch.slice/docker-" A ".scope", "", A),
	V2("docker without root",
	   "/user.slice/user-1000.slice/user@1000.service/user.slice/docker-" A ".scope", "", A),
	V1("ECS", "/ecs/0123456789abcdef0123456789abcdef/" A, "", A),
	V2("kind, from the host: the node",
	   "/system.slice/docker-" A
	   ".scope/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-pod" UID_
	   ".slice/cri-containerd-" B ".scope",
	   "", A),

	/* podman and others */
	V2("podman, systemd", "/machine.slice/libpod-" A ".scope/container", "", A),
	V2("podman, cgroupfs", "/libpod_parent/libpod-" A, "", A),
	V2("podman without root",
	   "/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-" A ".scope/container",
	   "", A),
	V2("podman, in a pod",
	   "/machine.slice/machine-libpod_pod_" B ".slice/libpod-" A ".scope/container", "", A),
	V1("podman, in a pod, cgroupfs", "/libpod_parent/" B "/libpod-" A, "", A),
	V2("podman in a service", "/system.slice/web.service/libpod-payload-" A, "", A),
	V2("podman's monitor", "/machine.slice/libpod-conmon-" A ".scope", "", ""),
	V1("podman, systemd", "/machine.slice/libpod-" A ".scope", "", A),
	V2("nerdctl, systemd", "/system.slice/nerdctl-" A ".scope", "", A),
	V1("nerdctl, cgroupfs", "/default/" A, "", A),

	/* seen from a cgroup namespace */
	V2("a namespace of its own: own container", "/", "", ""),
	V2("a namespace of its own: container of the same pod", "/../cri-containerd-" A ".scope",
	   "", A),
	V2("a namespace of its own: pod of the same class",
	   "/../../kubepods-besteffort-pod" UID_ ".slice/cri-containerd-" A ".scope", UID, A),
	V2("a namespace of its own: pod of another class",
	   "/../../../kubepods-burstable.slice/kubepods-burstable-pod" UID_ ".slice/crio-" A
	   ".scope",
	   UID, A),
	V1("a namespace of its own, cgroupfs: container of the same pod", "/../" A, "", A),
	V1("a namespace of its own, cgroupfs: pod of the same class", "/../../pod" UID "/" A, UID,
	   A),
	V1("a namespace of its own, cgroupfs: pod of another class",
	   "/../../../burstable/pod" UID "/" A, UID, A),
	V2("a namespace of its own: the host", "/../../../../system.slice/ssh.service", "", ""),

	/* no container */
	V2("a service", "/system.slice/ssh.service", "", ""),
	V2("a user's session", "/user.slice/user-1000.slice/session-3.scope", "", ""),
	V2("kubelet", "/system.slice/kubelet.service", "", ""),
	V1("LXC", "/lxc/web", "", ""),

	/* names that look like one */
	V2("an ID with a digit too few",
	   "/docker/a1b2c3d4e5f60718293a4b5c6d7e8f90112233445566778899aabbccddeeff0", "", ""),
	V2("an ID with capital letters",
	   "/system.slice/"
	   "docker-A1b2c3d4e5f60718293a4b5c6d7e8f90112233445566778899aabbccddeeff00.scope",
	   "", ""),
	V2("a pod's name in a directory of a user",
	   "/user.slice/user-1000.slice/user@1000.service/kubepods.slice/kubepods-pod" UID_
	   ".slice",
	   "", ""),
	V2("a pod's name in a service with cgroups of its own",
	   "/system.slice/ci.service/kubepods/pod" UID, "", ""),
	V2("a pod's name in a container", "/docker/" A "/kubepods/pod" UID "/" B, "", A),
	V2("a pod's name in a pod", "/kubepods/pod" UID "/kubepods/pod" STATIC "/" A, UID, A),
	V2("a container's name in a container",
	   SLICES "kubepods-burstable-pod" UID_ ".slice/crio-" A ".scope/crio-" B ".scope", UID, A),
	V2("a pod without kubepods", "/pod" UID "/" A, "", A),
	V2("a pod's name elsewhere, from a cgroup namespace", "/../other/pod" UID "/" A, "", A),
	V2("a pod UID with both separators", "/kubepods/pod6f2c1d34-8a5e_4b7f-9c01-23456789abcd/" A,
	   "", A),
};

static bool is_read(const struct one *l)
{
	struct cgroup_identity identity;
	struct cgroup_text t = { 0 };

	if (!cgroup_text_parse(l->text, strlen(l->text), &t) || t.len != strlen(l->path) ||
	    memcmp(t.path, l->path, t.len) != 0)
		return false;
	cgroup_identify(t.path, t.len, &identity);
	if (strcmp(identity.pod_uid, l->pod_uid) != 0 ||
	    strcmp(identity.container_id, l->container_id) != 0)
		printf("# pod '%s', container '%s'\n", identity.pod_uid, identity.container_id);
	return !strcmp(identity.pod_uid, l->pod_uid) &&
	       !strcmp(identity.container_id, l->container_id);
}

static void test_lines(void)
{
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		ok(is_read(&lines[i]), "%s", lines[i].what);
}

/* Whole files: of all hierarchies one path is taken. */
static const struct one files[] = {
	{ "hybrid: only controllers of v1 show the container",
	  "3:cpu,cpuacct:/docker/" A "\n1:name=systemd:/docker/" A
	  "\n0::/system.slice/containerd.service\n",
	  "/docker/" A, "", A },
	{ "hybrid: v2 shows the container as well",
	  "2:memory:/docker/" B "\n1:name=systemd:/docker/" B "\n0::/system.slice/docker-" A
	  ".scope\n",
	  "/system.slice/docker-" A ".scope", "", A },
	{ "v1: systemd's hierarchy counts before a controller's",
	  "5:memory:/user\n1:name=systemd:/user.slice/user-1000.slice\n",
	  "/user.slice/user-1000.slice", "", "" },
	{ "v1: a hierarchy in which the process is in the root says less",
	  "2:memory:/jobs/7\n1:name=systemd:/\n0::/\n", "/jobs/7", "", "" },
	{ "a process in the root", "2:memory:/\n0::/\n", "/", "", "" },
	{ "a cgroup that was removed", "0::/docker/" A " (deleted)\n", "/docker/" A, "", A },
	{ "a path with colons and blanks", "0::/a b:c/docker-" A ".scope\n",
	  "/a b:c/docker-" A ".scope", "", A },
	{ "lines that are none are skipped", "x\n0:\n0::\n1:name=systemd:relative\n0::/a\n", "/a",
	  "", "" },
};

static void test_files(void)
{
	struct cgroup_text t;

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		ok(is_read(&files[i]), "%s", files[i].what);
	ok(!cgroup_text_parse("", 0, &t) && !cgroup_text_parse("0::/a", 5, &t),
	   "neither an empty file nor half a line is parsed");
	ok(cgroup_text_parse("0::/\n", 5, &t) && !t.has_v1, "v2 alone is known");
	ok(cgroup_text_parse("1:name=systemd:/\n0::/a\n", 23, &t) && t.has_v1 && t.is_v1_root,
	   "a task that is in the root of all hierarchies of v1 may be exiting");
	ok(cgroup_text_parse("2:pids:/a\n1:name=systemd:/\n", 27, &t) && t.has_v1 && !t.is_v1_root,
	   "a task that is elsewhere in v1 is not");
}

static bool is_kin(const char *path, enum cgroup_kin kin)
{
	return cgroup_kin(path, strlen(path)) == kin;
}

static void test_kin(void)
{
	ok(is_kin("/", CGROUP_OWN) && is_kin("/init.scope", CGROUP_OWN),
	   "own container, by its namespace");
	ok(is_kin("/../" A, CGROUP_SIBLING) &&
		   is_kin("/../cri-containerd-" A ".scope/x", CGROUP_SIBLING),
	   "another container of the own pod, by its namespace");
	ok(is_kin("/..", CGROUP_OUTSIDE) && is_kin("/../other", CGROUP_OUTSIDE) &&
		   is_kin("/../../pod" UID "/" A, CGROUP_OUTSIDE),
	   "another pod, by its namespace");
}

int main(void)
{
	test_lines();
	test_files();
	test_kin();
	return tap_done();
}
