/* SPDX-License-Identifier: MIT */
/* Passes a file descriptor to another process, with one byte, through a Unix socket. */
#ifndef KFDSHIM_COMMON_FD_PASS_H
#define KFDSHIM_COMMON_FD_PASS_H

/* Sends the file descriptor. Returns 0 or a negative errno. */
int fd_send(int socket, int fd);
/* Receives a message of fd_send(). Returns the file descriptor in it, or -1 if it has none, if the
 * other end is closed, or if recvmsg(2) fails. */
int fd_receive(int socket);

#endif
