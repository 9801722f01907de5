// SPDX-License-Identifier: MIT
/* Stands in for libkfdshim.so where only being preloaded matters. */
void cli_fake_shim(void);

__attribute__((visibility("default"))) void cli_fake_shim(void)
{
}
