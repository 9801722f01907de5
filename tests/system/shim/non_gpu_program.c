// SPDX-License-Identifier: MIT
/*
 * A program that never uses a GPU. It calls ioctl, changes its directory, and exits with 7 if it
 * has one thread and as many descriptors as its argument specifies. Without an argument it prints
 * the number of its descriptors.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

static int count(const char *path)
{
	DIR *dir = opendir(path);
	int n = 0;

	if (!dir)
		return -1;
	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

int main(int argc, char **argv)
{
	struct winsize size;
	char byte[8];
	int fds = count("/proc/self/fd");

	if (argc < 2)
		return printf("%d\n", fds) < 0;
	/* A command of the console, whose type is KFD's, too, and two others. */
	(void)ioctl(0, 0x4b33, byte);
	(void)ioctl(0, TIOCGWINSZ, &size);
	(void)ioctl(99, 0xc0584b02, byte);
	if (chdir("/") != 0)
		return 1;
	if (count("/proc/self/task") != 3) /* one thread, and "." and ".." */
		return 2;
	if (fds != count("/proc/self/fd") || fds != atoi(argv[1]))
		return 3;
	return 7;
}
