/*
 * Makes user-mode Linux skip idle time, and compute in less time. Preloaded into its process.
 *
 * Linux 6.1 calls timer_gettime() only when it is idle, to find out whether a timer will end its sleep
 * (os_idle_sleep()). That is when this library moves the clock to the end of the timer, and lets it expire at once.
 *
 * The time of the host passes slowly, so that a busy host does not make the guest late. A timer that expires early for
 * that reason is set again by the kernel.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <time.h>

#define SECOND_NS 1000000000L
#define SLOWER 8

static long skipped_ns;

int clock_gettime(clockid_t clock, struct timespec *now)
{
	static int (*original)(clockid_t, struct timespec *);
	static long start_ns[CLOCK_MONOTONIC + 1];
	int result;
	long ns;

	if (!original)
		original = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
	result = original(clock, now);
	if (result || (clock != CLOCK_REALTIME && clock != CLOCK_MONOTONIC))
		return result;
	ns = now->tv_sec * SECOND_NS + now->tv_nsec;
	if (!start_ns[clock])
		start_ns[clock] = ns;
	ns = start_ns[clock] + (ns - start_ns[clock]) / SLOWER + skipped_ns;
	*now = (struct timespec){ ns / SECOND_NS, ns % SECOND_NS };
	return 0;
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
