// SPDX-License-Identifier: MIT
/* Checks kernel and driver, and returns the names of HSA runtimes. */
#include "cli/doctor/checks.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/text.h"
#include "kfd/driver_rules.h"

/* The first versions of KFD and Linux whose driver supports DBG_TRAP on other processes. */
#define KFD_MINOR 13
#define LINUX_MAJOR 6
#define LINUX_MINOR 5
#define SCHED_POLICY_NO_FIRMWARE 2 /* amdgpu.sched_policy: queues without firmware */

/* Returns the name of the set of rules that the driver follows. */
static const char *rules_text(enum kfdabi_kernel kernel)
{
	switch (kernel) {
	case KFDABI_LINUX_7_3:
		return "the rules of 7.3";
	case KFDABI_LINUX_6_12_107:
		return "the rules of 6.12.107: any thread of a debugger is accepted";
	default:
		return "the rules of 6.12.95: only the tracing thread is accepted";
	}
}

/* Returns true if that kernel release supports DBG_TRAP on other processes. Sets *known to whether
 * `release` has a known format. */
static bool new_enough(const char *release, bool *known)
{
	unsigned major, minor;

	*known = sscanf(release, "%u.%u", &major, &minor) == 2;
	return *known && (major > LINUX_MAJOR || (major == LINUX_MAJOR && minor >= LINUX_MINOR));
}

/* Checks that the kernel can suspend queues, and reports which rules its driver follows. */
void check_kernel(struct doctor_run *c, const struct doctor_facts *facts)
{
	bool known, enough = new_enough(facts->release, &known);

	if (facts->simulated) {
		int kernel = kfdabi_kernel_find(facts->simulated_kernel);

		finding_ok(c, "Linux %s; the simulated driver has %s", known ? facts->release : "?",
			   kernel < 0 ? "unknown rules" : rules_text((enum kfdabi_kernel)kernel));
		return;
	}
	if (!known) {
		finding_unknown(c);
		return;
	}
	/* If the version of KFD is known, check_kfd_version() decides and not the kernel's release,
	 * because AMD's own driver brings the interface to older kernels. */
	if (enough || facts->kfd_minor >= 0) {
		finding_ok(c, "Linux %s; %s", facts->release,
			   rules_text(kfdabi_kernel_of_release(facts->release)));
		return;
	}
	finding_add(c, DOCTOR_MISSING, "Linux %s, whose KFD cannot suspend queues", facts->release);
	finding_advise(c, "use Linux %d.%d or newer, or AMD's driver package of ROCm 6 or newer",
		       LINUX_MAJOR, LINUX_MINOR);
}

/* Checks that the driver is loaded, and whether it is the kernel's own. */
void check_driver(struct doctor_run *c, const struct doctor_facts *facts)
{
	const char *version = facts->driver_version[0] ? facts->driver_version : "no version";

	if (facts->simulated) {
		finding_ok(c, "simulated");
	} else if (facts->module == DOCTOR_UNKNOWN) {
		finding_unknown(c);
	} else if (facts->module == DOCTOR_NO) {
		finding_bad(
			c, DOCTOR_MISSING,
			"load it with 'modprobe amdgpu', on a machine with an AMD GPU; without one try 'kfdsim -- kfdsched doctor'",
			"amdgpu is not loaded");
	} else if (facts->out_of_tree == DOCTOR_YES) {
		/* The version of an out-of-tree driver does not show how it behaves, so the daemon
		 * probes that. */
		finding_bad(
			c, DOCTOR_WARNING,
			"check its rules once with 'kfdconform', on a GPU that no other process uses",
			"amdgpu out of tree (%s), whose rules may differ from the kernel's",
			version);
	} else if (facts->out_of_tree == DOCTOR_NO) {
		finding_ok(c, "amdgpu of the kernel");
	} else {
		finding_ok(c, "amdgpu");
	}
}

/* Checks that /dev/kfd can be opened; the advice depends on the reason. */
void check_kfd_device(struct doctor_run *c, const struct doctor_facts *facts)
{
	char group[96], user[96];

	switch (facts->kfd_error) {
	case 0:
		finding_ok(c, "/dev/kfd can be opened");
		break;
	case -1:
		finding_unknown(c);
		break;
	case ENOENT:
		finding_add(c, DOCTOR_MISSING, "/dev/kfd does not exist");
		if (facts->module == DOCTOR_YES)
			finding_advise(
				c,
				"pass the device to the container (docker run --device /dev/kfd --device /dev/dri); without a container: use a kernel with CONFIG_HSA_AMD");
		else
			finding_advise(c, "the driver creates it: load amdgpu");
		break;
	case EACCES:
	case EPERM:
		finding_add(c, DOCTOR_MISSING, "/dev/kfd cannot be opened by %s", facts->user);
		if (facts->kfd_error == EPERM || facts->uid == 0)
			finding_advise(
				c,
				"the device rules of the container forbid it: pass the device (docker run --device /dev/kfd)");
		else if (facts->kfd_group == 0) /* users must not be added to root's group */
			finding_advise(
				c,
				"give /dev/kfd to the group render by a udev rule, as ROCm's packages do, and add %s to that group",
				facts->user);
		else
			finding_advise(
				c,
				"add the user to the group of the device, and log in again: usermod -aG %s %s",
				shell_word_or(group, sizeof(group), facts->kfd_group_name,
					      "render"),
				shell_word_or(user, sizeof(user), facts->user, "USER"));
		break;
	default:
		finding_bad(c, DOCTOR_MISSING,
			    "check the driver's messages: 'dmesg | grep -e kfd -e amdgpu'",
			    "/dev/kfd cannot be opened: %s", strerror(facts->kfd_error));
	}
}

/* Checks the version of the KFD interface. */
void check_kfd_version(struct doctor_run *c, const struct doctor_facts *facts)
{
	finding_if(
		c, facts->kfd_major >= 0, facts->kfd_major == 1 && facts->kfd_minor >= KFD_MINOR,
		DOCTOR_MISSING,
		"KFD 1.13 or newer is needed: use Linux 6.5 or newer, or AMD's driver package of ROCm 6 or newer",
		"KFD %lld.%lld", (long long)facts->kfd_major, (long long)facts->kfd_minor);
}

/* Checks that running waves can be saved: the module's parameter, and the size of the save area
 * that the driver reports for each GPU (kfd/topology.h). */
void check_cwsr(struct doctor_run *c, const struct doctor_facts *facts)
{
	bool missing = false;

	if (facts->cwsr_enable == 0) {
		finding_bad(
			c, DOCTOR_MISSING,
			"load amdgpu without cwsr_enable=0: check /etc/modprobe.d and the kernel command line",
			"running waves cannot be saved (cwsr_enable=0): only level gate is possible");
		return;
	}
	for (size_t i = 0; i < facts->node_count; i++) {
		if (facts->nodes[i].cwsr_size != 0)
			continue;
		missing = true;
		c->node = &facts->nodes[i];
		finding_bad(
			c, DOCTOR_MISSING,
			"this driver does not use CWSR on this GPU: hold processes by KFDSHIM_LEVEL=gate, or use another kernel",
			"running waves cannot be saved (cwsr_size 0): only level gate is possible");
	}
	if (missing)
		return;
	if (facts->cwsr_enable < 0)
		finding_unknown(c);
	else
		finding_ok(c, "running waves can be saved");
}

void check_sched_policy(struct doctor_run *c, const struct doctor_facts *facts)
{
	static const char *const policies[] = {"by firmware", "by firmware, never oversubscribed",
					       "without firmware"};
	int64_t policy = facts->sched_policy;

	finding_if(
		c, policy >= 0, policy < SCHED_POLICY_NO_FIRMWARE, DOCTOR_MISSING,
		"load amdgpu without sched_policy=2: with it the driver supports no debugging, and so no suspend",
		"queues are scheduled %s (sched_policy=%lld)",
		policies[policy < SCHED_POLICY_NO_FIRMWARE ? policy : SCHED_POLICY_NO_FIRMWARE],
		(long long)policy);
}

const char *doctor_rocr_name(char text[64], const char *file)
{
	static const struct {
		unsigned minor;
		const char *version;
	} debian[] = {{5, "5.2.3"}, {13, "6.1.2"}, {15, "6.4.3"}, {18, "7.2.4"}};
	const char *name = strrchr(file, '/');
	unsigned minor, build;

	name = name ? name + 1 : file;
	if (sscanf(name, "libhsa-runtime64.so.1.%u.%u", &minor, &build) == 2) {
		/* Packages of AMD have the release in the last number: 60102 is 6.1.2. */
		if (build >= 10000) {
			snprintf(text, 64, "%u.%u.%u", build / 10000, build / 100 % 100,
				 build % 100);
			return text;
		}
		for (size_t i = 0; i < sizeof(debian) / sizeof(debian[0]); i++) {
			if (debian[i].minor == minor) {
				snprintf(text, 64, "%s", debian[i].version);
				return text;
			}
		}
	}
	snprintf(text, 64, "%.63s", name);
	return text;
}

bool doctor_rocr_never_enables(const char *file)
{
	const char *name = strrchr(file, '/');
	unsigned minor, build;

	if (sscanf(name ? name + 1 : file, "libhsa-runtime64.so.1.%u.%u", &minor, &build) != 2)
		return false;
	return minor <= 5 || (build >= 10000 && build < 50700);
}
