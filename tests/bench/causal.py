#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""causal.py LOAD SERVICE_MS SUSPEND_MS RESUME_MS

What can a scheduler keep for offline work that does not know when the next request comes?

A queue with Poisson arrivals and one service time; offline work is resumed when a gap has
lasted for a constant hold-over, and suspended at the next request. A request that comes during
the resume waits for the rest of it, too. For Poisson arrivals the past says nothing on how long
a gap will last, so no rule does better than a constant. Printed: the share of offline work and
the P50 and P99 of the requests, alone, with foresight (cli/colocate/possible.h), and for some
hold-overs. 40 seeds of 10 s; no GPU is simulated.
"""
import random
import sys

HOLDS_MS = (0, 0.1, 0.2, 0.3, 0.5, 0.8, 1.2, 2, 3)
WINDOW_MS = 10000
SEEDS = 40


def arrivals(load, service, seed):
    numbers = random.Random(seed)
    at = numbers.expovariate(load / service)
    while at < WINDOW_MS:
        yield at
        at += numbers.expovariate(load / service)


def alone(_gap, _suspend, _resume):
    return 0, 0


def foresight(gap, suspend, resume):
    return (gap - resume, suspend) if gap > resume else (0, 0)


def causal(hold):
    def rule(gap, suspend, resume):
        ran = gap - hold - resume
        if gap <= hold:
            return 0, 0
        return (ran, suspend) if ran > 0 else (0, suspend - ran)

    return rule


def play(requests, service, costs, rule):
    """The share of offline work, P50 and P99. rule: a gap and costs -> time of offline work in it,
    and delay of the request that ends it."""
    free = ran = 0
    latencies = []
    for at in requests:
        given, delay = rule(at - free, *costs) if at > free else (0, 0)
        ran += given
        free = max(at, free) + delay + service
        latencies.append(free - at)
    latencies.sort()
    return ran / WINDOW_MS, latencies[len(latencies) // 2], latencies[len(latencies) * 99 // 100]


def main():
    try:
        load, service, *costs = map(float, sys.argv[1:])
        if len(costs) != 2 or not 0 < load < 1 or service <= 0 or min(costs) < 0:
            raise ValueError
    except ValueError:
        sys.exit(f"causal: not four numbers in their range\n{__doc__}")
    rules = [("alone", alone), ("foresight", foresight)]
    rules += [(f"hold {hold} ms", causal(hold)) for hold in HOLDS_MS]
    rows = []
    for name, rule in rules:
        runs = [play(arrivals(load, service, seed), service, costs, rule) for seed in range(SEEDS)]
        rows.append((name, *(sum(column) / SEEDS for column in zip(*runs))))
    possible = rows[1]
    print(f"{'':12}{'KEEPS':>8}{'OF POSSIBLE':>13}{'P50':>10}{'P99':>10}{'OF POSSIBLE':>13}")
    for name, keeps, p50, p99 in rows:
        print(f"{name:12}{100 * keeps:6.1f} %{keeps / possible[1]:13.2f}{p50:7.2f} ms{p99:7.2f} ms"
              f"{p99 / possible[3]:13.3f}")


if __name__ == "__main__":
    main()
