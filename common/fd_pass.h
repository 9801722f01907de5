/* SPDX-License-Identifier: MIT */
/* Passes a file descriptor to another process, with one byte, through a Unix socket. */
#ifndef KFDSHIM_COMMON_FD_PASS_H
#define KFDSHIM_COMMON_FD_PASS_H

/* Sends the file descriptor. Returns 0 or a negative errno. */
int fd_send(int socket, int fd);
/* Returns the received file descriptor, or -1 if there is none or the other end is closed. */
int fd_receive(int socket);

#endif
