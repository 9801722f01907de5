// SPDX-License-Identifier: MIT
#include "shim/self_session.h"

#include <errno.h>
#include <stdint.h>
#include <sys/eventfd.h>

#include "kfd/debug_session.h"
#include "shim/descriptor.h"
#include "shim/kfd_fd.h"

static const struct kfdshim_preload_iface *the_host;
static struct kfd_debug_session session; /* target 0: this process */
static int event_fd = -1;		 /* required by ENABLE; never read */

static int call_driver(void *context, unsigned long request, void *arg)
{
	(void)context;
	return the_host->ioctl(device_fd(), request, arg);
}

bool self_is_open(void)
{
	return kfd_debug_is_enabled(&session);
}

bool self_is_suspended(void)
{
	return kfd_debug_is_holding(&session);
}

/* @result is that of a debug call. If this call has found that another process has ended the
 * session, closes the eventfd. Returns @result. (Before Linux 6.12.103 any process could end the
 * session.) */
static int checked(int result)
{
	if (!session.enabled)
		descriptor_close(&event_fd);
	return result;
}

int self_suspend(void)
{
	return checked(kfd_debug_suspend(&session, NULL));
}

int self_resume(void)
{
	return checked(kfd_debug_resume(&session, NULL));
}

int self_check(void)
{
	int r = checked(kfd_debug_probe(&session));

	return r < 0 ? r : 0;
}

int self_collect(void)
{
	return checked(kfd_debug_refresh(&session));
}

static void end_session(void)
{
	kfd_debug_disable(&session);
	descriptor_close(&event_fd);
}

static int start_session(void)
{
	uint32_t state;
	int err;

	event_fd = descriptor_keep(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
	if (event_fd < 0)
		return -errno;
	err = kfd_debug_enable(&session, 0, event_fd, &state);
	if (!err && state != KFDABI_RUNTIME_ENABLED)
		err = -EBUSY;
	if (!err)
		err = kfd_debug_settle(&session, NULL);
	if (err)
		end_session();
	return err;
}

int self_open(const struct kfdshim_preload_iface *host)
{
	int err;

	if (session.enabled)
		return 0;
	the_host = host;
	session.ioctl = call_driver;
	err = kfd_debug_probe(&session);
	if (err >= 0)
		return -EALREADY;
	return err == -EINVAL ? start_session() : err;
}

void self_close(void)
{
	if (!session.enabled)
		return;
	self_resume();
	end_session();
}

void self_forget(void)
{
	descriptor_close(&event_fd);
	kfd_debug_forget(&session);
}
