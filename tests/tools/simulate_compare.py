"""What the statistics of ``perflog.stats`` do on data whose truth is known.

``python -m tests.tools.simulate_compare`` prints Markdown tables (about a minute, one core, fixed seed);
``--write tests/found/compare.md`` puts them under the last heading of that page. ``--scale 0.1`` takes a tenth of the
repetitions.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
from numpy.random import Generator
from scipy import signal, stats

from perflog.stats.changes import YEAR, change_points
from perflog.stats.clusters import clusters
from perflog.stats.components import components
from perflog.stats.drift import drift
from perflog.stats.mannwhitney import at_most, critical, p_value
from perflog.stats.prediction import predict
from perflog.stats.ratio import ratio
from perflog.stats.resolution import resolution
from perflog.stats.verdict import Verdict, decide
from perflog.stats.warmup import mser5
from tests.tools.pages import Simulation, percent, table
from tests.tools.tables_of_runs import Array, Noise, normal

RUNS, STEPS, STEP_SPREAD = 5, 200, 0.02


def skewed(random: Generator, shape: tuple[int, ...]) -> Array:
    """Exponential, mean 0 and deviation 1: most runs alike, some much slower."""
    return random.standard_exponential(shape) - 1


def heavy(random: Generator, shape: tuple[int, ...]) -> Array:
    """Student's t with three degrees of freedom, deviation 1."""
    return random.standard_t(3, shape) / math.sqrt(3)


NOISES: dict[str, Noise] = {"normal": normal, "skewed": skewed, "heavy tails": heavy}


def wandering(random: Generator, repeats: int, n: int, rho: float) -> Array:
    """AR(1) series of unit deviation, shape (repeats, n)."""
    white = random.standard_normal((repeats, n))
    white[:, 1:] *= math.sqrt(1 - rho * rho)  # the first one already has the variance of all
    return np.asarray(signal.lfilter([1.0], [1.0, -rho], white, axis=1))


def step_times(
    random: Generator, runs: int, steps: int, run_spread: float, step_spread: float = STEP_SPREAD, rho: float = 0.3
) -> Array:
    """Step times of runs, shape (runs, steps), around 0.2 s: a level per run, and AR(1) noise of its steps."""
    noise = wandering(random, runs, steps, rho)
    return np.asarray(0.2 * np.exp(run_spread * random.standard_normal((runs, 1))) * np.exp(step_spread * noise))


#: Up to so many additions of an array the distribution of :func:`permutation_p` is counted out, beyond it is normal.
_EXACT_WORK = 100_000_000


def permutation_p(old: Sequence[float], new: Sequence[float]) -> float:
    """The permutation test with mid-ranks, which perflog does not use: exact for ties, but without an interval.

    Two-sided p from all C(m + n, m) ways to deal the pooled mid-ranks, ties and all: twice the smaller tail.

    Counted out by dynamic programming over the sum of doubled mid-ranks (Streitberg & Röhmel 1986, the shift
    algorithm); for large samples the normal approximation with the tie correction. 1 for an empty side.
    """
    m, n = len(old), len(new)
    if not m or not n:
        return 1.0
    ranks = np.rint(2 * stats.rankdata([*old, *new])).astype(int)
    most = int(np.sort(ranks)[-m:].sum())
    if len(ranks) * m * most > _EXACT_WORK:
        return float(stats.mannwhitneyu(old, new, method="asymptotic").pvalue)
    ways = np.zeros((m + 1, most + 1))
    ways[0, 0] = 1
    for rank in ranks.tolist():
        ways[1:, rank:] += ways[:-1, : most + 1 - rank]
    tails: Array = ways[m]
    seen = int(ranks[:m].sum())
    return float(min(1.0, 2 * min(tails[: seen + 1].sum(), tails[seen:].sum()) / tails.sum()))


def false_alarms(random: Generator, run_spread: float, rho: float, repeats: int) -> dict[str, float]:
    """Shares of comparisons of two identical versions that find a difference."""
    found = dict.fromkeys(("steps", "runs", "verdict", "same", "rounded", "dealt"), 0)
    for _ in range(repeats):
        times = step_times(random, 2 * RUNS, STEPS, run_spread, rho=rho)
        old, new = times[:RUNS].ravel(), times[RUNS:].ravel()
        difference = abs(old.mean() - new.mean()) / math.sqrt((old.var() + new.var()) / len(old))
        found["steps"] += difference > 1.96
        rates = 256 / times.mean(axis=1)  # total work over total time
        result = ratio(rates[:RUNS].tolist(), rates[RUNS:].tolist())
        assert result.p is not None
        found["runs"] += result.p <= 0.05
        verdict = decide(result).verdict
        found["verdict"] += verdict in (Verdict.FASTER, Verdict.SLOWER)
        found["same"] += verdict is Verdict.SAME
        coarse = np.round(rates / 10) * 10  # as if printed in tens: about 1 % steps
        found["rounded"] += p_value(coarse[:RUNS].tolist(), coarse[RUNS:].tolist()) <= 0.05
        found["dealt"] += permutation_p(coarse[:RUNS].tolist(), coarse[RUNS:].tolist()) <= 0.05
    return {name: count / repeats for name, count in found.items()}


def coverage(random: Generator, noise: Noise, n: int, repeats: int, spread: float = 0.02, wider: float = 1.0) -> float:
    """How often the interval of the ratio holds the true one (1.05), n runs a side.

    The interval holds θ exactly when the votes on old·θ against new are above the critical value on both sides, so a
    million intervals need no sorting; the first ones are also made by ``ratio`` itself.
    """
    truth, cut, inside = 1.05, critical(n, n), 0
    for start in range(0, repeats, 50_000):
        size = min(50_000, repeats - start)
        old = np.exp(spread * noise(random, (size, n)))
        new = truth * np.exp(spread * wider * noise(random, (size, n)))
        votes = (new[:, :, None] <= truth * old[:, None, :]).sum(axis=(1, 2))
        held = (votes > cut) & (votes < n * n - cut)
        inside += int(held.sum())
        if start == 0:
            for at in range(min(500, size)):
                made = ratio(old[at].tolist(), new[at].tolist())
                assert made.low is not None and made.high is not None
                assert bool(held[at]) == (made.low <= truth <= made.high)
    return inside / repeats


def warmups(random: Generator, repeats: int, steps: int = STEPS) -> dict[str, tuple[str, Array]]:
    """Series of step times with a known warm-up: name → (the right cut, shape (repeats, steps))."""
    at = np.arange(steps)
    noise = 1 + STEP_SPREAD * random.standard_normal((repeats, steps))
    return {
        "steady": ("0", noise),
        "first step 50×": ("1–5", np.where(at == 0, 50, 1) * noise),
        "decay, τ = 8 steps, from 6×": ("≈ 50", (1 + 5 * np.exp(-at / 8)) * noise),
        "first 40 steps +10 %": ("40", np.where(at < 40, 1.1, 1) * noise),
        "first 5 steps 4×, a spike of 3× every 50": ("5", np.where(at < 5, 4, np.where(at % 50 == 0, 3, 1)) * noise),
        "first 140 steps +10 %": ("none in the first half", np.where(at < 140, 1.1, 1) * noise),
        "decay, τ = 100 steps, from 3×": ("none in the first half", (1 + 2 * np.exp(-at / 100)) * noise),
    }


def _false_alarm_part(random: Generator, scale: float) -> str:
    repeats = round(6000 * scale)
    rows = []
    for run_spread in (0.005, 0.01, 0.02):
        for rho in (0.0, 0.3, 0.8):
            got = false_alarms(random, run_spread, rho, repeats)
            names = ("steps", "runs", "rounded", "dealt", "verdict", "same")
            rows.append([percent(run_spread), f"{rho:g}", *(percent(got[name]) for name in names)])
    head = [
        "spread of runs",
        "ρ of steps",
        "t, all steps",
        "**exact test of runs**",
        "rounded rates",
        "rounded, mid-ranks",
        "**faster or slower**",
        "same",
    ]
    return (
        f"### False alarms: two identical versions\n\n{RUNS} runs × {STEPS} steps a side, step spread {percent(STEP_SPREAD, 0)} with AR(1) "
        f"correlation ρ; {repeats} comparisons a row (standard error at most 0.3 points where the share is 5 %). Exact level of the test: "
        f"{percent(2 * at_most(2, 5, 5), 2)}.\n\n" + table(head, rows)
    )


def _coverage_part(random: Generator, scale: float) -> str:
    repeats = round(1_000_000 * scale)
    rows = []
    for n in (5, 6, 8, 10):
        exact = 1 - 2 * at_most(critical(n, n), n, n)
        ranks = f"D({critical(n, n) + 1}) … D({n * n - critical(n, n)})"
        got = [coverage(random, noise, n, repeats) for noise in NOISES.values()]
        unequal = coverage(random, normal, n, repeats // 5, wider=3.0)
        rows.append([str(n), ranks, percent(exact, 2), *(percent(g, 2) for g in got), percent(unequal, 1)])
    return (
        f"### Coverage of the ratio's interval\n\nTrue ratio 1.05, spread 2 %; {repeats} intervals each (standard error 0.02 points). The last column breaks "
        f"the model: the new side spreads three times as much as the old one.\n\n"
        + table(["n", "interval", "exact level", *NOISES, "3 × the spread"], rows)
    )


def _warmup_part(random: Generator, scale: float) -> str:
    repeats = round(4000 * scale)
    rows = []
    for name, (right, series) in warmups(random, repeats).items():
        got = [mser5(line) for line in series]
        cuts = np.array([w.cut for w in got], dtype=float)
        low, middle, high = np.quantile(cuts, (0.05, 0.5, 0.95))
        rows.append(
            [name, right, f"**{middle:g}**", f"{low:g}–{high:g}", percent(float(np.mean([w.at_cap for w in got])))]
        )
    return (
        f"### Warm-up (MSER-5)\n\n{STEPS} steps with a spread of {percent(STEP_SPREAD, 0)}, {repeats} series each.\n\n"
        + table(["series", "right cut", "median cut", "5–95 %", "at the cap"], rows)
    )


def _notes_part(random: Generator, scale: float) -> str:
    repeats = round(2000 * scale)
    drifting = []
    for name, slope, rho in (
        ("steady", 0.0, 0.0),
        ("steady", 0.0, 0.8),
        ("+1 %", 0.01, 0.3),
        ("+2 %", 0.02, 0.3),
        ("+5 %", 0.05, 0.3),
    ):
        ramp = 1 + slope * np.linspace(0, 1, STEPS)
        series = step_times(random, repeats, STEPS, 0.0, rho=rho) * ramp
        got = [drift(line) for line in series]
        drifting.append(
            [
                name,
                f"{rho:g}",
                percent(float(np.mean([g.drifts for g in got]))),
                percent(float(np.median([g.change or 0.0 for g in got])), 2),
            ]
        )
    text = f"### Notes\n\nDrift over a window of {STEPS} steps, spread {percent(STEP_SPREAD, 0)}:\n\n" + table(
        ["change", "ρ", "noted", "median estimate"], drifting
    )

    sizes = (5, 6, 8, 10, 20)
    shapes: dict[str, Callable[[int], Array]] = {
        "one group, normal": lambda n: normal(random, (repeats, n)),
        "one group, skewed": lambda n: skewed(random, (repeats, n)),
        "two groups 8 deviations apart": lambda n: normal(random, (repeats, n)) + 8.0 * (np.arange(n) >= n // 2),
        "two groups 12 deviations apart": lambda n: normal(random, (repeats, n)) + 12.0 * (np.arange(n) >= n // 2),
    }
    rows = []
    for name, make in shapes.items():
        rows.append(
            [
                name,
                *(
                    percent(
                        float(
                            np.mean(
                                [clusters((1000 + 10 * line).tolist(), smallest=0.0) is not None for line in make(n)]
                            )
                        )
                    )
                    for n in sizes
                ),
            ]
        )
    text += "\nTwo clusters noted, by number of runs (without the least gap of 1 %, which makes false notes rarer still):\n\n"
    text += table(["runs", *map(str, sizes)], rows)

    rows = []
    for n in (8, 10, 20):
        series = 100 + normal(random, (repeats, n + 1))
        rows.append([str(n), percent(float(np.mean([predict(line[:-1].tolist()).holds(line[-1]) for line in series])))])
    text += "\nThe next value lies in the 95 % prediction interval:\n\n" + table(["points", "inside"], rows)

    rows = []
    for spread in (0.0, 0.005, 0.01, 0.02, 0.05):
        printed = np.round(0.124 * (1 + spread * random.standard_normal(100_000)), 2)
        noted = resolution(printed[:STEPS], half_width=0.005)
        assert noted is not None
        rows.append(
            [
                percent(spread),
                percent(printed.mean() / 0.124 - 1, 2),
                "± " + percent(noted.bias, 2),
                "yes" if noted.dominates else "no",
            ]
        )
    text += "\nA step of 0.124 s printed with two decimals, interval ± 0.5 %:\n\n" + table(
        ["spread of steps", "bias", "bound from 200 steps", "noted"], rows
    )

    rows = []
    for run_spread, rho in ((0.0, 0.3), (0.002, 0.3), (0.005, 0.0), (0.005, 0.3), (0.01, 0.3)):
        truth = STEP_SPREAD**2 / STEPS * (1 + rho) / (1 - rho)
        shares = []
        for _ in range(max(20, repeats // 4)):
            parts = components(list(step_times(random, RUNS, STEPS, run_spread, rho=rho)))
            assert parts is not None
            shares.append(parts.step_share)
        low, middle, high = np.quantile(shares, (0.1, 0.5, 0.9))
        rows.append(
            [
                percent(run_spread),
                f"{rho:g}",
                percent(truth / (truth + run_spread**2), 0),
                percent(middle, 0),
                f"{percent(low, 0)}–{percent(high, 0)}",
            ]
        )
    text += f"\nShare of the variance between run means that is due to their steps ({RUNS} runs × {STEPS} steps):\n\n"
    return text + table(["spread of runs", "ρ", "true", "median estimate", "10–90 %"], rows)


# ---------------------------------------------------------------- histories

#: The lengths of the histories.
LENGTHS = (10, 12, 20, 52, 100, 200, 365)
#: A function from a generator, how many histories and their length to the histories, shape (histories, length).
Histories = Callable[[Generator, int, int], Array]


def raised(random: Generator, repeats: int, n: int, rho: float, by: float, last: int = 0) -> Array:
    """AR(1) histories whose last points (or their second half) are higher by so many deviations."""
    start = n - last if last else n // 2
    return wandering(random, repeats, n, rho) + by * (np.arange(n) >= start)


def spiked(random: Generator, repeats: int, n: int, points: int = 1) -> Array:
    """Independent histories with so many points in a row twenty deviations high in the middle."""
    at = np.arange(n)
    spike: Array = np.where((at >= n // 2) & (at < n // 2 + points), 20.0, 0.0)
    return wandering(random, repeats, n, 0.0) + spike


def with_outliers(random: Generator, repeats: int, n: int) -> Array:
    """Independent histories of which every tenth point is eight deviations high."""
    outliers: Array = np.where(random.random((repeats, n)) < 0.1, 8.0, 0.0)
    return wandering(random, repeats, n, 0.0) + outliers


HISTORIES: dict[str, Histories] = {
    **{f"steady, ρ = {rho:g}": partial(wandering, rho=rho) for rho in (0.0, 0.3, 0.5, 0.6)},
    "steady, heavy tails": lambda random, repeats, n: heavy(random, (repeats, n)),
    "steady, a tenth of the points 8 deviations high": with_outliers,
    "steady, one spike of 20 deviations": spiked,
    "steady, two of them in a row": partial(spiked, points=2),
    **{f"3 deviations up half-way, ρ = {rho:g}": partial(raised, rho=rho, by=3.0) for rho in (0.0, 0.3, 0.6)},
}  # fmt: skip


def found_share(random: Generator, histories: Histories, repeats: int, n: int) -> float:
    """The share of histories in which any of the looks after each of their points found a change."""
    series = 100 + histories(random, repeats, n)
    return float(np.mean([bool(change_points(values.tolist()).points) for values in series]))


#: Falls in deviations of the points, each after so many campaigns; how many campaigns later it is asked for.
FALLS, BEFORE, LATER = (2.5, 3.8, 5.0), (20, 26, 52), (3, 5, 10)
#: A change is the fall where it begins no further from it.
NEAR = 3


def fall_share(random: Generator, repeats: int, rho: float, fall: float, before: int, lasted: int, after: int) -> float:
    """The share of finished histories in which a fall that lasted so many campaigns is listed."""
    n = before + lasted + after
    at = np.arange(n)
    series = 100 + wandering(random, repeats, n, rho) - fall * ((at >= before) & (at < before + lasted))
    falls = [
        any(abs(change.index - before) <= NEAR for change in change_points(values.tolist()).points)
        for values in series
    ]  # fmt: skip
    return float(np.mean(falls))


def histories_part(random: Generator, scale: float) -> str:
    """The share of histories with a change point, by length; of falls that are found in time, and of those kept."""
    repeats = max(20, round(2000 * scale))
    rows = []
    for name, histories in HISTORIES.items():
        counts = [repeats if n <= YEAR and name.startswith("steady") else repeats // 10 for n in LENGTHS]
        shares = [found_share(random, histories, count, n) for count, n in zip(counts, LENGTHS, strict=True)]
        rows.append([name, *map(percent, shares)])
    words = (
        f"Histories in which any look found a change, after each campaign from the tenth on; {repeats} steady ones of"
        f" up to {YEAR} points (standard error of 5 %: {100 * (0.05 * 0.95 / repeats) ** 0.5:.1f} points), a tenth as"
        " many of the others:"
    )
    steady = f"### Histories\n\n{words}\n\n" + table(["history", *map(str, LENGTHS)], rows)
    return steady + _falls(random, max(20, repeats // 10))


def _falls(random: Generator, repeats: int) -> str:
    """The share of falls that are found by so many campaigns later."""
    rows = [
        [
            f"{fall:g}", f"{rho:g}",
            *(percent(fall_share(random, repeats, rho, fall, n, later, 0), 0) for n in BEFORE for later in LATER),
        ]
        for fall in FALLS
        for rho in (0.0, 0.3, 0.6)
    ]  # fmt: skip
    kept = [percent(fall_share(random, repeats, 0.0, fall, BEFORE[1], 5, 20), 0) for fall in FALLS]
    titles = [f"{later} after {n}" for n in BEFORE for later in LATER]
    words = (
        f"Falls of a lasting level, in deviations of the points, that are listed so many campaigns later, after a"
        f" steady history of so many ({repeats} each):"
    )
    ended = (
        f"Of those that lasted five campaigns after {BEFORE[1]}, at ρ = 0, a history that went on for twenty more"
        f" lists {', '.join(kept)}."
    )
    return f"\n{words}\n\n{table(['fall', 'ρ', *titles], rows)}\n{ended}\n"


_PARTS = (_false_alarm_part, _coverage_part, _warmup_part, _notes_part, histories_part)
SIMULATION = Simulation(
    "tests.tools.simulate_compare",
    20260401,
    {str(n): part for n, part in enumerate(_PARTS)},
    "tests/found/compare.md",
)

if __name__ == "__main__":
    SIMULATION.main(__doc__)
