/*
 * Makes user-mode Linux skip idle time. Preloaded into its process.
 *
 * Linux 6.1 calls timer_gettime() only when it is idle, to find out whether a timer will end its sleep
 * (os_idle_sleep()). That is when this library moves the clock to the end of the timer, and lets it expire at once.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <time.h>

#define SECOND_NS 1000000000L

static long skipped_ns;

int clock_gettime(clockid_t clock, struct timespec *now)
{
	static int (*original)(clockid_t, struct timespec *);
	int result;

	if (!original)
		original = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
	result = original(clock, now);
	now->tv_nsec += skipped_ns % SECOND_NS;
	now->tv_sec += skipped_ns / SECOND_NS + now->tv_nsec / SECOND_NS;
	now->tv_nsec %= SECOND_NS;
	return result;
}

int timer_gettime(timer_t timer, struct itimerspec *left)
{
	static int (*original)(timer_t, struct itimerspec *);
	int result;

	if (!original)
		original = (int (*)(timer_t, struct itimerspec *))dlsym(RTLD_NEXT, "timer_gettime");
	result = original(timer, left);
	if (result || (!left->it_value.tv_sec && !left->it_value.tv_nsec))
		return result;
	skipped_ns += left->it_value.tv_sec * SECOND_NS + left->it_value.tv_nsec;
	left->it_value = (struct timespec){ .tv_nsec = 1 };
	return timer_settime(timer, 0, left, NULL);
}
