"""Compares response times with pyRTA, whose analyses are verified in Rocq (https://prosa.mpi-sws.org).

Each line of the input is a bus: the rule, then for each message in the order of priority its frame time, period, jitter and
response time, in bits: `priority 135,10000,0,540 125,...`. Prints `COUNT rule messages` and a line for each difference.

Two conventions differ from those of CAN:
* A lower-priority frame has started at least one unit before, so it blocks for one unit less: here it is one unit longer.
* A response counts from the queue, and the jitter of the first frame is over when it is queued: here it is added.
"""

import sys
from collections import Counter

from response_time_analysis import fifo, fp
from response_time_analysis.model import (
    WCET,
    FullyNonPreemptive,
    IdealProcessor,
    Periodic,
    PeriodicWithJitter,
    Priority,
    Task,
    taskset,
)

SUPPLY = IdealProcessor()


def task(cost, period, jitter, priority):
    arrivals = PeriodicWithJitter(period, jitter) if jitter else Periodic(period)
    return Task(arrivals, FullyNonPreemptive(WCET(cost)), priority=Priority(priority))


def by_priority(messages, at):
    """The response time of one message."""
    urgent = [task(*messages[before][:3], len(messages) - before) for before in range(at + 1)]
    longest = max((cost for cost, _, _, _ in messages[at + 1 :]), default=0)
    others = [task(longest + 1, 10**9, 0, 0)] if longest else []
    solution = fp.rta(taskset(*urgent, *others), urgent[at], SUPPLY)
    assert solution.bound_found()
    jitter = messages[at][2]
    return max(found + (jitter if offset == 0 else 0) for offset, _, found in solution.search_space)


def main():
    counts = Counter()
    for line in sys.stdin:
        rule, *fields = line.split()
        messages = [tuple(map(int, field.split(","))) for field in fields]
        if rule == "fifo":
            tasks = taskset(*(task(cost, period, jitter, 1) for cost, period, jitter, _ in messages))
            bound = fifo.rta(tasks, SUPPLY).response_time_bound
            expected = [bound] * len(messages)
        else:
            expected = [by_priority(messages, at) for at in range(len(messages))]
        for at, (message, wanted) in enumerate(zip(messages, expected)):
            counts[rule] += 1
            if message[3] != wanted:
                print(f"{line.strip()}: message {at} has {message[3]}, pyRTA {wanted}")
    for rule, count in counts.items():
        print(f"COUNT {rule} {count}")


main()
