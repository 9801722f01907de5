// SPDX-License-Identifier: MIT
/*
 * Runs a command under a seccomp profile in the format of container engines. Only the keys that the
 * project's own profile uses are supported: defaultAction, architectures, and of syscalls names,
 * action and errnoRet. Any other key is an error.
 *
 *   run_profile FILE.json COMMAND ...
 *
 * Or prints the effect of the profile on each call, as "NAME ERRNO":
 *
 *   run_profile FILE.json --try NAME ...
 */
#include <errno.h>
#include <jansson.h>
#include <seccomp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

static _Noreturn void stop(const char *what, const char *which)
{
	fprintf(stderr, "run_profile: %s %s\n", what, which);
	exit(2);
}

static const char *word(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	if (!text)
		stop("not a text:", key);
	return text;
}

static void check_keys(json_t *object, const char *known)
{
	const char *key;
	json_t *value;

	json_object_foreach(object, key, value)
	{
		if (!strstr(known, key))
			stop("unknown key", key);
	}
}

/* A name that is unknown to this machine's libseccomp is ignored, as in runc. */
static void add(scmp_filter_ctx filter, const char *name, uint32_t action)
{
	int number = seccomp_syscall_resolve_name(name);

	if (number != __NR_SCMP_ERROR && seccomp_rule_add(filter, action, number, 0))
		stop("no rule for", name);
}

static void add_rule(scmp_filter_ctx filter, json_t *rule)
{
	json_int_t error = json_integer_value(json_object_get(rule, "errnoRet"));
	json_t *names = json_object_get(rule, "names"), *name;
	size_t i;

	check_keys(rule, "comment names action errnoRet");
	if (strcmp(word(rule, "action"), "SCMP_ACT_ERRNO") || error <= 0 || !json_array_size(names))
		stop("not a refusal:", word(rule, "comment"));
	json_array_foreach(names, i, name)
	{
		if (!json_is_string(name))
			stop("not a name in", word(rule, "comment"));
		add(filter, json_string_value(name), SCMP_ACT_ERRNO((uint16_t)error));
	}
}

static uint32_t architecture(const char *name)
{
	return !strcmp(name, "SCMP_ARCH_X86_64") ? SCMP_ARCH_X86_64
	       : !strcmp(name, "SCMP_ARCH_X86")	 ? SCMP_ARCH_X86
	       : !strcmp(name, "SCMP_ARCH_X32")	 ? SCMP_ARCH_X32
						 : 0;
}

static void load(const char *file)
{
	json_t *profile = json_load_file(file, JSON_REJECT_DUPLICATES, NULL), *entry;
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
	size_t i;

	if (!profile || !filter)
		stop("no JSON:", file);
	check_keys(profile, "defaultAction architectures syscalls");
	if (strcmp(word(profile, "defaultAction"), "SCMP_ACT_ALLOW"))
		stop("not known:", "defaultAction");
	json_array_foreach(json_object_get(profile, "architectures"), i, entry)
	{
		uint32_t arch = architecture(json_string_value(entry));
		int rc = arch ? seccomp_arch_add(filter, arch) : -EINVAL;

		if (rc && rc != -EEXIST)
			stop("not an architecture:", json_string_value(entry));
	}
	json_array_foreach(json_object_get(profile, "syscalls"), i, entry) add_rule(filter, entry);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || seccomp_load(filter))
		stop("cannot load", file);
	seccomp_release(filter);
	json_decref(profile);
}

int main(int argc, char **argv)
{
	if (argc < 3)
		stop("usage:", "run_profile FILE.json COMMAND ... | --try NAME ...");
	load(argv[1]);
	if (strcmp(argv[2], "--try") != 0) {
		execvp(argv[2], argv + 2);
		perror(argv[2]);
		return 127;
	}
	for (char **name = argv + 3; *name; name++) {
		errno = 0;
		syscall(seccomp_syscall_resolve_name(*name), -1, -1, -1, -1, -1, -1);
		printf("%s %d\n", *name, errno);
	}
	return 0;
}
