// SPDX-License-Identifier: MIT
/*
 * The list of findings, and the checks of kernel and driver.
 *
 * A check adds its finding also if all is well, or if its facts are not known ("-"), so that
 * `doctor -v` shows what was checked. A problem that follows from another one stays unknown, or
 * names the other one, so that one cause gets one advice.
 */
#include "cli/doctor/checks_driver.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/shell_word.h"
#include "kfd/driver_rules.h"

/* The first versions of KFD and Linux whose driver supports DBG_TRAP on other processes. */
#define KFD_MINOR 13
#define LINUX_MAJOR 6
#define LINUX_MINOR 5
#define SCHED_POLICY_NO_FIRMWARE 2 /* amdgpu.sched_policy: queues without firmware */

const char *doctor_verdict_name(enum doctor_verdict verdict)
{
	static const char *const names[] = {"ok", "warning", "missing", "unknown"};

	return names[verdict];
}

void doctor_find(struct doctor_findings *out, const char *check, uint32_t gpu_id, int pid,
		 enum doctor_verdict verdict, const char *found, ...)
{
	struct doctor_finding *list = reallocarray(out->list, out->count + 1, sizeof(*list));
	va_list ap;

	if (!list) {
		out->failed = true;
		return;
	}
	out->list = list;
	list += out->count++;
	*list = (struct doctor_finding){
		.check = check, .gpu_id = gpu_id, .pid = pid, .verdict = verdict};
	va_start(ap, found);
	vsnprintf(list->found, sizeof(list->found), found, ap);
	va_end(ap);
}

void doctor_advise(struct doctor_findings *out, const char *advice, ...)
{
	va_list ap;

	if (out->failed || !out->count)
		return;
	va_start(ap, advice);
	vsnprintf(out->list[out->count - 1].advice, sizeof(out->list->advice), advice, ap);
	va_end(ap);
}

void doctor_findings_free(struct doctor_findings *findings)
{
	free(findings->list);
	*findings = (struct doctor_findings){0};
}

bool doctor_usable(const struct doctor_findings *findings)
{
	for (size_t i = 0; i < findings->count; i++)
		if (findings->list[i].verdict == DOCTOR_MISSING)
			return false;
	return true;
}

/* Describes the rules that the driver follows. */
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

/* Returns true if that kernel release supports DBG_TRAP on other processes. *known: `release` has a
 * known format. */
static bool new_enough(const char *release, bool *known)
{
	unsigned major, minor;

	*known = sscanf(release, "%u.%u", &major, &minor) == 2;
	return *known && (major > LINUX_MAJOR || (major == LINUX_MAJOR && minor >= LINUX_MINOR));
}

/* Checks that the kernel can suspend queues, and reports which rules its driver follows. */
static void check_kernel(const struct doctor_facts *facts, struct doctor_findings *out)
{
	bool known, enough = new_enough(facts->release, &known);

	if (facts->simulated) {
		int kernel = kfdabi_kernel_find(facts->simulated_kernel);

		doctor_find(out, "kernel", 0, 0, DOCTOR_OK, "Linux %s; the simulated driver has %s",
			    known ? facts->release : "?",
			    kernel < 0 ? "unknown rules" : rules_text((enum kfdabi_kernel)kernel));
		return;
	}
	if (!known) {
		doctor_find(out, "kernel", 0, 0, DOCTOR_CANNOT_KNOW, "-");
		return;
	}
	/* The version of KFD counts more than the kernel's: AMD's own driver brings the interface
	 * to older kernels. */
	if (enough || facts->kfd_minor >= 0) {
		doctor_find(out, "kernel", 0, 0, DOCTOR_OK, "Linux %s; %s", facts->release,
			    rules_text(kfdabi_kernel_of_release(facts->release)));
		return;
	}
	doctor_find(out, "kernel", 0, 0, DOCTOR_MISSING,
		    "Linux %s, whose KFD cannot suspend queues", facts->release);
	doctor_advise(out, "use Linux %d.%d or newer, or AMD's driver package of ROCm 6 or newer",
		      LINUX_MAJOR, LINUX_MINOR);
}

/* Checks that the driver is loaded, and whether it is the kernel's own. */
static void check_driver(const struct doctor_facts *facts, struct doctor_findings *out)
{
	const char *version = facts->driver_version[0] ? facts->driver_version : "no version";

	if (facts->simulated) {
		doctor_find(out, "driver", 0, 0, DOCTOR_OK, "simulated");
	} else if (facts->module == DOCTOR_UNKNOWN) {
		doctor_find(out, "driver", 0, 0, DOCTOR_CANNOT_KNOW, "-");
	} else if (facts->module == DOCTOR_NO) {
		doctor_find(out, "driver", 0, 0, DOCTOR_MISSING, "amdgpu is not loaded");
		doctor_advise(out, "load it with 'modprobe amdgpu', on a machine with an AMD GPU; "
				   "without one try 'kfdsim -- kfdsched doctor'");
	} else if (facts->out_of_tree == DOCTOR_YES) {
		/* The version of such a driver does not determine its behaviour, so the daemon
		 * probes that. */
		doctor_find(out, "driver", 0, 0, DOCTOR_WARNING,
			    "amdgpu out of tree (%s), whose rules may differ from the kernel's",
			    version);
		doctor_advise(out, "check its rules once with 'kfdconform', on a GPU that no other "
				   "process uses");
	} else if (facts->out_of_tree == DOCTOR_NO) {
		doctor_find(out, "driver", 0, 0, DOCTOR_OK, "amdgpu of the kernel");
	} else {
		doctor_find(out, "driver", 0, 0, DOCTOR_OK, "amdgpu");
	}
}

/* Checks that /dev/kfd can be opened; the advice depends on the reason. */
static void check_device(const struct doctor_facts *facts, struct doctor_findings *out)
{
	char group[96], user[96];

	switch (facts->kfd_error) {
	case 0:
		doctor_find(out, "kfd_device", 0, 0, DOCTOR_OK, "/dev/kfd can be opened");
		break;
	case -1:
		doctor_find(out, "kfd_device", 0, 0, DOCTOR_CANNOT_KNOW, "-");
		break;
	case ENOENT:
		doctor_find(out, "kfd_device", 0, 0, DOCTOR_MISSING, "/dev/kfd does not exist");
		if (facts->module == DOCTOR_YES)
			doctor_advise(out, "pass the device to the container (docker run --device "
					   "/dev/kfd --device /dev/dri); without a container: use "
					   "a kernel with CONFIG_HSA_AMD");
		else
			doctor_advise(out, "the driver creates it: load amdgpu");
		break;
	case EACCES:
	case EPERM:
		doctor_find(out, "kfd_device", 0, 0, DOCTOR_MISSING,
			    "/dev/kfd cannot be opened by %s", facts->user);
		if (facts->kfd_error == EPERM || facts->uid == 0)
			doctor_advise(out, "the device rules of the container forbid it: pass the "
					   "device (docker run --device /dev/kfd)");
		else if (facts->kfd_group == 0) /* users must not be added to root's group */
			doctor_advise(out,
				      "give /dev/kfd to the group render by a udev rule, as "
				      "ROCm's packages do, and add %s to that group",
				      facts->user);
		else
			doctor_advise(out,
				      "add the user to the group of the device, and log in again: "
				      "usermod -aG %s %s",
				      shell_word_or(group, sizeof(group), facts->kfd_group_name,
						    "render"),
				      shell_word_or(user, sizeof(user), facts->user, "USER"));
		break;
	default:
		doctor_find(out, "kfd_device", 0, 0, DOCTOR_MISSING,
			    "/dev/kfd cannot be opened: %s", strerror(facts->kfd_error));
		doctor_advise(out, "check the driver's messages: 'dmesg | grep -e kfd -e amdgpu'");
	}
}

/* Checks the version of the KFD interface. */
static void check_version(const struct doctor_facts *facts, struct doctor_findings *out)
{
	if (facts->kfd_major < 0) {
		doctor_find(out, "kfd_version", 0, 0, DOCTOR_CANNOT_KNOW, "-");
		return;
	}
	bool enough = facts->kfd_major == 1 && facts->kfd_minor >= KFD_MINOR;

	doctor_find(out, "kfd_version", 0, 0, enough ? DOCTOR_OK : DOCTOR_MISSING, "KFD %lld.%lld",
		    (long long)facts->kfd_major, (long long)facts->kfd_minor);
	if (!enough)
		doctor_advise(out,
			      "KFD 1.%d or newer is needed: use Linux %d.%d or newer, or AMD's "
			      "driver package of ROCm 6 or newer",
			      KFD_MINOR, LINUX_MAJOR, LINUX_MINOR);
}

/* Checks that running waves can be saved: the module's parameter, and the size of the save area
 * that the driver reports for each GPU (common/cwsr.h). */
static void check_cwsr(const struct doctor_facts *facts, struct doctor_findings *out)
{
	bool missing = false;

	if (facts->cwsr_enable == 0) {
		doctor_find(out, "cwsr", 0, 0, DOCTOR_MISSING,
			    "running waves cannot be saved (cwsr_enable=0): only level gate is "
			    "possible");
		doctor_advise(out, "load amdgpu without cwsr_enable=0: check /etc/modprobe.d and "
				   "the kernel command line");
		return;
	}
	for (size_t i = 0; i < facts->node_count; i++) {
		if (facts->nodes[i].cwsr_size != 0)
			continue;
		missing = true;
		doctor_find(out, "cwsr", facts->nodes[i].gpu_id, 0, DOCTOR_MISSING,
			    "running waves cannot be saved (cwsr_size 0): only level gate is "
			    "possible");
		doctor_advise(out, "this driver does not use CWSR on this GPU: hold processes by "
				   "KFDSHIM_LEVEL=gate, or use another kernel");
	}
	if (!missing && facts->cwsr_enable < 0)
		doctor_find(out, "cwsr", 0, 0, DOCTOR_CANNOT_KNOW, "-");
	else if (!missing)
		doctor_find(out, "cwsr", 0, 0, DOCTOR_OK, "running waves can be saved");
}

/* Checks the module's parameters, which apply to all GPUs. */
static void check_parameters(const struct doctor_facts *facts, struct doctor_findings *out)
{
	static const char *const policies[] = {"firmware", "firmware, never oversubscribed"};

	check_cwsr(facts, out);
	if (facts->sched_policy < 0) {
		doctor_find(out, "sched_policy", 0, 0, DOCTOR_CANNOT_KNOW, "-");
	} else if (facts->sched_policy < SCHED_POLICY_NO_FIRMWARE) {
		doctor_find(out, "sched_policy", 0, 0, DOCTOR_OK, "queues are scheduled by %s",
			    policies[facts->sched_policy]);
	} else {
		doctor_find(out, "sched_policy", 0, 0, DOCTOR_MISSING,
			    "queues are scheduled without firmware (sched_policy=%lld)",
			    (long long)facts->sched_policy);
		doctor_advise(out, "load amdgpu without sched_policy=2: with it the driver "
				   "supports no debugging, and so no suspend");
	}
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

void doctor_check(const struct doctor_facts *facts, struct doctor_findings *out)
{
	size_t n_valid = 0;

	*out = (struct doctor_findings){0};
	if (facts->chosen_pid) {
		doctor_check_processes(facts, out);
		n_valid = out->count;
	}
	check_kernel(facts, out);
	check_driver(facts, out);
	check_version(facts, out);
	check_device(facts, out);
	check_parameters(facts, out);
	doctor_check_nodes(facts, out);
	doctor_check_rights(facts, out);
	if (!facts->chosen_pid) {
		doctor_check_environment(facts, out);
		doctor_check_processes(facts, out);
		return;
	}
	/* Of the findings about the machine, keep those that may be obstacles. */
	for (size_t i = n_valid; i < out->count; i++)
		if (out->list[i].verdict == DOCTOR_WARNING ||
		    out->list[i].verdict == DOCTOR_MISSING)
			out->list[n_valid++] = out->list[i];
	out->count = n_valid;
}
