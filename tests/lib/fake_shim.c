// SPDX-License-Identifier: MIT
/* A stub of libkfdshim.so for tests in which it matters only that a library is preloaded. */
void cli_fake_shim(void);

__attribute__((visibility("default"))) void cli_fake_shim(void)
{
}
