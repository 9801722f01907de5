// SPDX-License-Identifier: MIT
/*
 * Proves that a container's engine, id and pod are read from its cgroup in the layout of each
 * engine, for cgroups of version 1 and 2, with and without systemd. Of nested containers the
 * innermost one counts. If the cgroup is not visible, the files that an engine mounts are used. A
 * path that only resembles a container's is not taken for one.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
/* clang-format off: cmocka wants some of the above first */
#include <cmocka.h>
/* clang-format on */

#include "cli/inspect/process.h"

#define ID "3f2a9c0d1e4b5a69788796a5b4c3d2e1f00112233445566778899aabbccddeef"
#define OUTER "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"
#define UID "6f1c9c8e-8c2e-4b5a-9d0c-0123456789ab"
#define UID_SLICE "6f1c9c8e_8c2e_4b5a_9d0c_0123456789ab"
#define STATIC_UID "0123456789abcdef0123456789abcdef"
#define USER "/user.slice/user-1000.slice/user@1000.service"

static const struct {
	const char *text;
	enum container_engine engine;
	const char *id, *pod;
} table[] = {
	/* docker */
	{"0::/docker/" ID "\n", CONTAINER_DOCKER, ID, ""},
	{"0::/system.slice/docker-" ID ".scope\n", CONTAINER_DOCKER, ID, ""},
	{"12:pids:/docker/" ID "\n11:memory:/docker/" ID "\n1:name=systemd:/docker/" ID "\n",
	 CONTAINER_DOCKER, ID, ""},
	{"12:pids:/system.slice/docker-" ID ".scope\n0::/system.slice/docker.service\n",
	 CONTAINER_DOCKER, ID, ""},
	{"0::" USER "/user.slice/docker-" ID ".scope\n", CONTAINER_DOCKER, ID, ""},
	{"0::/system.slice/docker-" ID ".scope/init\n", CONTAINER_DOCKER, ID, ""},
	{"0::/jobs/" ID "\n", CONTAINER_UNKNOWN, ID, ""}, /* --cgroup-parent */
	/* podman */
	{"0::/machine.slice/libpod-" ID ".scope/container\n", CONTAINER_PODMAN, ID, ""},
	{"0::/machine.slice/libpod-" ID ".scope\n", CONTAINER_PODMAN, ID, ""},
	{"9:devices:/libpod_parent/libpod-" ID "\n", CONTAINER_PODMAN, ID, ""},
	{"0::" USER "/user.slice/libpod-" ID ".scope/container\n", CONTAINER_PODMAN, ID, ""},
	{"0::" USER "/app.slice/job.service/libpod-payload-" ID "\n", CONTAINER_PODMAN, ID, ""},
	{"0::/machine.slice/machine-libpod_pod_" OUTER ".slice/libpod-" ID ".scope\n",
	 CONTAINER_PODMAN, ID, ""},
	/* containerd */
	{"0::/default/" ID "\n", CONTAINER_CONTAINERD, ID, ""},
	{"0::/k8s.io/" ID "\n", CONTAINER_CONTAINERD, ID, ""},
	{"0::/system.slice/nerdctl-" ID ".scope\n", CONTAINER_CONTAINERD, ID, ""},
	{"0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" UID_SLICE
	 ".slice/cri-containerd-" ID ".scope\n",
	 CONTAINER_CONTAINERD, ID, UID},
	{"0::/kubepods.slice/kubepods-pod" UID_SLICE ".slice/cri-containerd-" ID ".scope\n",
	 CONTAINER_CONTAINERD, ID, UID},
	{"4:cpu:/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-besteffort.slice/"
	 "kubelet-kubepods-besteffort-pod" STATIC_UID ".slice/cri-containerd-" ID ".scope\n",
	 CONTAINER_CONTAINERD, ID, STATIC_UID},
	{"0::/system.slice/containerd.service/kubepods-burstable-pod" UID_SLICE
	 ".slice:cri-containerd:" ID "\n",
	 CONTAINER_CONTAINERD, ID, UID},
	/* Kubernetes without systemd does not name the engine. */
	{"0::/kubepods/besteffort/pod" UID "/" ID "\n", CONTAINER_UNKNOWN, ID, UID},
	{"11:memory:/kubepods/pod" UID "/" ID "\n0::/\n", CONTAINER_UNKNOWN, ID, UID},
	{"0::/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod" UID_SLICE
	 ".slice/docker-" ID ".scope\n",
	 CONTAINER_DOCKER, ID, UID},
	/* the cgroup of a pod itself */
	{"0::/kubepods/burstable/pod" UID "\n", CONTAINER_UNKNOWN, "", UID},
	/* CRI-O */
	{"0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" UID_SLICE
	 ".slice/crio-" ID ".scope\n",
	 CONTAINER_CRIO, ID, UID},
	{"0::/kubepods.slice/kubepods-pod" UID_SLICE ".slice/crio-" ID ".scope/container\n",
	 CONTAINER_CRIO, ID, UID},
	{"7:cpuset:/kubepods/burstable/pod" UID "/crio-" ID "\n", CONTAINER_CRIO, ID, UID},
	/* nested: the innermost container, and the pod of the outer one */
	{"0::/docker/" OUTER "/docker/" ID "\n", CONTAINER_DOCKER, ID, ""},
	{"0::/system.slice/docker-" OUTER ".scope/libpod_parent/libpod-" ID "\n", CONTAINER_PODMAN,
	 ID, ""},
	{"0::/kubepods.slice/kubepods-pod" UID_SLICE ".slice/cri-containerd-" OUTER
	 ".scope/docker/" ID "\n",
	 CONTAINER_DOCKER, ID, UID},
	/* seen from another cgroup namespace */
	{"0::/../docker-" ID ".scope\n", CONTAINER_DOCKER, ID, ""},
	{"0::/../" ID "\n", CONTAINER_UNKNOWN, ID, ""},
	{"0::/../../../kubepods-pod" UID_SLICE ".slice/crio-" ID ".scope\n", CONTAINER_CRIO, ID,
	 UID},
	/* the controller that names the engine counts */
	{"3:cpu:/x/" ID "\n2:memory:/docker/" ID "\n", CONTAINER_DOCKER, ID, ""},
	/* no container */
	{"", CONTAINER_NONE, "", ""},
	{"0::/\n", CONTAINER_NONE, "", ""},
	{"0::" USER "/app.slice/app-org.example.scope\n", CONTAINER_NONE, "", ""},
	{"0::/system.slice/docker.service\n", CONTAINER_NONE, "", ""},
	{"0::/system.slice/docker-registry.service\n", CONTAINER_NONE, "", ""},
	{"0::/system.slice/docker-" ID "0.scope\n", CONTAINER_NONE, "", ""},
	{"0::/docker/" ID "0\n", CONTAINER_NONE, "", ""},
	{"0::/docker/abc\n", CONTAINER_NONE, "", ""},
	{"0::/podcast/pod" UID "\n", CONTAINER_NONE, "", ""},
	{"0::/machine.slice/libpod-conmon-" ID ".scope\n", CONTAINER_NONE, "", ""},
	{"0::/kubepods.slice/crio-conmon-" ID ".scope\n", CONTAINER_NONE, "", ""},
	{"nonsense\n:\n::\n0::relative/" ID "\n", CONTAINER_NONE, "", ""},
};

static void as_engines_lay_them_out(void **state)
{
	struct container out;

	(void)state;
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		bool found = container_of_cgroup(table[i].text, &out);

		if (found != (table[i].engine != CONTAINER_NONE) || out.engine != table[i].engine ||
		    strcmp(out.id, table[i].id) != 0 || strcmp(out.pod_uid, table[i].pod) != 0)
			fail_msg("%s is read as %s '%s' pod '%s'", table[i].text,
				 container_engine_name(out.engine), out.id, out.pod_uid);
	}
}

#define OVERLAY "473 387 0:143 / / rw,relatime - overlay overlay rw,lowerdir=/x/" OUTER "\n"
#define MOUNT(root, point) "510 473 254:1 " root " " point " rw,relatime - ext4 /dev/vda1 rw\n"
#define STORAGE "/containers/overlay-containers/"

static const struct {
	const char *text;
	enum container_engine engine;
	const char *id, *pod;
} mounts[] = {
	{OVERLAY MOUNT("/var/lib/docker/containers/" ID "/resolv.conf", "/etc/resolv.conf")
		 MOUNT("/var/lib/docker/containers/" ID "/hostname", "/etc/hostname"),
	 CONTAINER_DOCKER, ID, ""},
	/* /var/lib/docker is a file system of its own */
	{OVERLAY MOUNT("/containers/" ID "/hosts", "/etc/hosts"), CONTAINER_DOCKER, ID, ""},
	/* docker in a pod: the shared files are the pod's */
	{MOUNT("/var/lib/docker/containers/" ID "/hostname", "/etc/hostname")
		 MOUNT("/var/lib/kubelet/pods/" UID "/etc-hosts", "/etc/hosts"),
	 CONTAINER_DOCKER, "", UID},
	{MOUNT("/var/lib/containerd/io.containerd.grpc.v1.cri/sandboxes/" ID "/hostname",
	       "/etc/hostname") MOUNT("/var/lib/kubelet/pods/" UID "/etc-hosts", "/etc/hosts"),
	 CONTAINER_CONTAINERD, "", UID},
	{MOUNT("/var/lib/nerdctl/1935db59/etchosts/default/" ID "/hosts", "/etc/hosts"),
	 CONTAINER_CONTAINERD, ID, ""},
	{MOUNT("/containers/storage/overlay-containers/" ID "/userdata/hostname", "/etc/hostname")
		 MOUNT("/var/lib/kubelet/pods/" UID "/etc-hosts", "/etc/hosts"),
	 CONTAINER_CRIO, "", UID},
	{MOUNT(STORAGE ID "/userdata/hosts", "/etc/hosts"), CONTAINER_PODMAN, ID, ""},
	/* podman run --network container:OUTER */
	{MOUNT(STORAGE OUTER "/userdata/hosts", "/etc/hosts")
		 MOUNT(STORAGE ID "/userdata/.containerenv", "/run/.containerenv"),
	 CONTAINER_PODMAN, ID, ""},
	{MOUNT("/var/lib/kubelet/pods/" UID "/etc-hosts", "/etc/hosts"), CONTAINER_UNKNOWN, "",
	 UID},
	/* a host that runs containers */
	{OVERLAY MOUNT("/", "/var/lib/docker/containers/" ID "/mounts/shm")
		 MOUNT("/etc/hosts", "/etc/hosts"),
	 CONTAINER_NONE, "", ""},
	{MOUNT("/var/lib/docker/containers/" ID "0/hosts", "/etc/hosts"), CONTAINER_NONE, "", ""},
	{"1 2 3\n\n 4 5 6\n/containers/" ID "/hosts /etc/hosts", CONTAINER_NONE, "", ""},
};

static void by_what_is_mounted(void **state)
{
	static char text[4096];
	struct container out;

	(void)state;
	for (size_t i = 0; i < sizeof(mounts) / sizeof(mounts[0]); i++) {
		bool found;

		snprintf(text, sizeof(text), "%s", mounts[i].text);
		found = container_of_mounts(text, &out);
		if (found != (mounts[i].engine != CONTAINER_NONE) ||
		    out.engine != mounts[i].engine || strcmp(out.id, mounts[i].id) != 0 ||
		    strcmp(out.pod_uid, mounts[i].pod) != 0)
			fail_msg("%s is read as %s '%s' pod '%s'", mounts[i].text,
				 container_engine_name(out.engine), out.id, out.pod_uid);
	}
}

static void by_what_podman_writes(void **state)
{
	char full[] = "engine=\"podman-4.9.3\"\nname=\"train\033[2J\"\nid=\"" ID "\"\n"
		      "image=\"x\"\nrootless=1\n";
	char empty[] = "", others[] = "engine=\"x\"\nname=\"n\"\nid=\"" ID "\"\n",
	     cut[] = "engine=\"podman-4\"\nid=\"" ID "\nname=\"";
	struct container out;

	(void)state;
	assert_true(container_of_containerenv(full, &out));
	assert_int_equal(out.engine, CONTAINER_PODMAN);
	assert_string_equal(out.id, ID);
	assert_string_equal(out.name, "train?[2J");
	assert_false(container_of_containerenv(empty, &out));
	assert_false(container_of_containerenv(others, &out));
	assert_string_equal(out.id, "");
	assert_true(container_of_containerenv(cut, &out));
	assert_string_equal(out.id, "");
	assert_string_equal(out.name, "");
}

static void hostile_texts(void **state)
{
	static char text[70000];
	struct container out;

	(void)state;
	memset(text, '/', sizeof(text) - 1);
	memcpy(text, "0::", 3);
	assert_false(container_of_cgroup(text, &out));
	for (size_t i = 3; i + 2 < sizeof(text); i += 2)
		text[i + 1] = 'a';
	text[4000] = '\0';
	assert_false(container_of_cgroup(text, &out));
	/* a uid that is too long */
	strcpy(text, "0::/kubepods/pod");
	memset(text + strlen(text), '0', 200);
	text[216] = '\0';
	strcat(text, "/" ID);
	assert_true(container_of_cgroup(text, &out));
	assert_string_equal(out.pod_uid, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(as_engines_lay_them_out),
		cmocka_unit_test(by_what_is_mounted),
		cmocka_unit_test(by_what_podman_writes),
		cmocka_unit_test(hostile_texts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
