// SPDX-License-Identifier: MIT
// AddressSanitizer's options of every program in a sanitizer build; the environment comes after them.

// AddressSanitizer calls this when it starts, before main and in every process; static storage.
const char *__asan_default_options(void);

// It demands to be the first library of a process. The preloaded libraries, which have no sanitizer,
// come before it; what they take over goes on to the next definition, which is the sanitizer's.
__attribute__((visibility("default"))) const char *__asan_default_options(void)
{
	return "verify_asan_link_order=0";
}
