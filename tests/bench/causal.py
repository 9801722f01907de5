#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""causal.py LOAD SERVICE_MS SUSPEND_MS RESUME_MS [SIGMA]

What can a scheduler keep for offline work that does not know when the next request comes?

A queue with Poisson arrivals and one service time; offline work is resumed when a gap has
lasted for a constant hold-over, and suspended at the next request. A request that comes during
the resume waits for the rest of it, too. For Poisson arrivals the past says nothing on how long
a gap will last, so no rule does better than a constant. SIGMA: the distances are log-normal with
that sigma instead; then a rule that learns can do better.

Printed: the share of offline work and the P50 and P99 of the requests, alone, with foresight
(cli/colocate/result.h), and for some hold-overs; means over 100 windows of 10 s. WITHIN 1.05:
how many of 20 runs of goals.sh would find the P99 within 1.05 x what is possible, if each takes
the medians of five of these windows. No GPU is simulated.
"""
import random
import statistics
import sys

HOLDS_MS = (0, 0.1, 0.2, 0.3, 0.5, 0.8, 1.2, 2, 3)
WINDOW_MS = 10000
SEEDS = 100
TOGETHER = 5  # windows of a run of goals.sh
P99_AT_MOST = 1.05


def arrivals(load, service, sigma, seed):
    numbers = random.Random(seed)
    mean = service / load

    def distance():
        if sigma == 0:
            return numbers.expovariate(1 / mean)
        return mean * numbers.lognormvariate(-sigma * sigma / 2, sigma)

    at = distance()
    while at < WINDOW_MS:
        yield at
        at += distance()


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


def runs_within(p99s, possible):
    """The number of runs of TOGETHER windows each whose ratio of medians is at most P99_AT_MOST."""
    within = 0
    for at in range(0, SEEDS, TOGETHER):
        found, best = (statistics.median(of[at : at + TOGETHER]) for of in (p99s, possible))
        within += found <= P99_AT_MOST * best
    return within


def main():
    try:
        load, service, *costs = map(float, sys.argv[1:])
        sigma = costs.pop() if len(costs) == 3 else 0
        if len(costs) != 2 or not 0 < load < 1 or service <= 0 or min(*costs, sigma) < 0:
            raise ValueError
    except ValueError:
        sys.exit(f"causal: not four or five numbers in their range\n{__doc__}")
    rules = [("alone", alone), ("foresight", foresight)]
    rules += [(f"hold {hold} ms", causal(hold)) for hold in HOLDS_MS]
    columns = {}
    for name, rule in rules:
        runs = (play(arrivals(load, service, sigma, seed), service, costs, rule) for seed in range(SEEDS))
        columns[name] = list(zip(*runs))
    shares, _, p99s = columns["foresight"]
    print(f"{'':12}{'KEEPS':>8}{'OF POSSIBLE':>13}{'P50':>10}{'P99':>10}{'OF POSSIBLE':>13}{'WITHIN 1.05':>13}")
    for name, column in columns.items():
        keeps, p50, p99 = map(statistics.fmean, column)
        print(
            f"{name:12}{100 * keeps:6.1f} %{keeps / statistics.fmean(shares):13.2f}{p50:7.2f} ms{p99:7.2f} ms"
            f"{p99 / statistics.fmean(p99s):13.3f}{runs_within(column[2], p99s):7} of {SEEDS // TOGETHER}"
        )


if __name__ == "__main__":
    main()
