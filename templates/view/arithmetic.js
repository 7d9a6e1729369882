"use strict";
// The arithmetic of perflog's numbers on the records of a rank: the window (perflog/measurements/window.py), the
// estimators (estimate.py) and the detector of the warm-up (stats/warmup.py). A test holds every setting against the
// command. Columns are Float64Arrays of n records: start, end, covers, time, work, line, epoch.
const arithmetic = (() => {
  const TOLERANCE = 1e-9, QUANTA = 10, LEAST_MERGED = 3, MOST_LEFT_OUT = 0.1, MOST = 2e6;
  const FASTEST = 1e10, SLOWEST = 1e-6;
  const AMOUNT = /^\s*([0-9]+(?:\.[0-9]+)?)\s*(steps?|epochs?|records?|prints?|s|sec|seconds?|%|)\s*$/;
  const UNITS = { "": "steps", step: "steps", epoch: "epochs", record: "records", print: "records", s: "s", sec: "s", second: "s", "%": "%" };

  // An amount as users write it: {number, unit}; null for one that is not right.
  function amount(text) {
    const written = String(text).trim().toLowerCase();
    if (written === "auto") return { number: 0, unit: "auto" };
    const found = AMOUNT.exec(written);
    if (!found) return null;
    const unit = UNITS[found[2]] ?? UNITS[found[2].replace(/s$/, "")];
    const number = Number(found[1]);
    if (unit !== "s" && unit !== "%" && !Number.isInteger(number)) return null;
    return unit === "%" && number >= 100 ? null : { number, unit };
  }

  const general = (value) => String(Number(value.toPrecision(6)));

  function sum(values, mask) { // Neumaier: as exact as numpy's pairwise sums
    let total = 0, lost = 0;
    for (let i = 0; i < values.length; i += 1) {
      if (mask && !mask[i]) continue;
      const next = total + values[i];
      lost += Math.abs(total) >= Math.abs(values[i]) ? total - next + values[i] : values[i] - next + total;
      total = next;
    }
    return total + lost;
  }

  function middle(values) {
    const sorted = Float64Array.from(values).sort();
    const half = sorted.length >> 1;
    return sorted.length % 2 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
  }

  // ---------------------------------------------------------------- where the warm-up ends (MSER-5)
  function statistic(batches) {
    const centre = middle(batches);
    const centred = Float64Array.from(batches, (value) => value - centre);
    const largest = centred.reduce((most, value) => Math.max(most, Math.abs(value)), 0) || 1;
    const result = new Float64Array(centred.length);
    let total = 0, squares = 0;
    for (let i = centred.length - 1; i >= 0; i -= 1) {
      const value = centred[i] / largest, left = centred.length - i;
      total += value;
      squares += value * value;
      result[i] = Math.max(squares - total * total / left, 0) / (left * left);
    }
    return result;
  }

  function least(values, from, to) {
    let best = from;
    for (let i = from + 1; i < to; i += 1) if (values[i] < values[best]) best = i;
    return best;
  }

  function mser5(series) {
    const k = Math.floor(series.length / 5);
    if (k < 4) return { cut: null, reason: `${series.length} measurement${series.length === 1 ? "" : "s"}, MSER-5 needs 20` };
    if (!series.every(Number.isFinite)) return { cut: null, reason: "a measurement is not a finite number" };
    const means = new Float64Array(k), medians = new Float64Array(k);
    for (let i = 0; i < k; i += 1) {
      const batch = series.slice(5 * i, 5 * i + 5);
      means[i] = batch.reduce((all, value) => all + value, 0) / 5;
      medians[i] = middle(batch);
    }
    const half = k >> 1;
    const cut = least(statistic(means), 0, half + 1);
    const robust = statistic(medians);
    let atCap = cut === half;
    if (k - 4 > half + 1) {
      const late = robust[least(robust, half + 1, k - 4)];
      atCap ||= late < 0.5 * robust[least(robust, 0, half + 1)];
    }
    return { cut: (atCap ? half : cut) * 5, reason: "" };
  }

  // ---------------------------------------------------------------- the window
  function borders(window, total, leading) {
    let low = window.warmup.number;
    if (window.warmup.unit === "records") low = Math.max(low - leading, 0);
    if (window.warmup.unit === "%") low = Math.ceil(total * window.warmup.number / 100);
    return [low, window.steps ? low + window.steps.number : Infinity];
  }

  function whyImpossible(rank, window) {
    const count = rank.n, total = rank.end - rank.origin;
    if (rank.none) return rank.none;
    const given = window.last ? [window.last] : [window.warmup, window.steps];
    if (rank.keyless && given.some((one) => one && (one.unit === "steps" || one.unit === "%"))) {
      return "this format prints no step numbers: give the warm-up in records (--warmup 5records)";
    }
    if (window.last) {
      const have = window.last.unit === "records" ? count : total;
      return have < window.last.number ? `${general(have)} ${window.last.unit}, last ${general(window.last.number)} asked for` : "";
    }
    const unit = window.warmup.unit;
    if (unit === "s" && rank.seconds === null) return "the log's rates cannot be turned into seconds without the batch size: give --set batch_size=N";
    if (unit !== "steps" && unit !== "%" && unit !== "records") return "";
    const have = unit === "records" ? count : total;
    const counted = unit === "records" ? "records" : "steps";
    const [low, high] = borders(window, have, rank.leading);
    const all = counted === "records" ? have + rank.leading : have;
    const out = counted === "records" ? window.warmup.number : low;
    const ends = `the run ends after ${general(all)} ${counted}, warm-up ${general(out)}`;
    if (have <= low) return ends;
    return window.steps && window.steps.unit === counted && have < high ? `${ends} and ${general(window.steps.number)} asked for after it` : "";
  }

  // Which records count, as a Uint8Array (1: it counts), or why the window cannot be taken.
  function taken(rank, asked) {
    const { start, end, time, covers, epoch } = rank.columns;
    let window = asked;
    if (!window.last && window.warmup.unit === "auto" && rank.n) {
      const n = Math.min(rank.n, MOST);
      const found = mser5(Float64Array.from({ length: n }, (_, i) => time[i] / covers[i]));
      if (found.cut === null) return { reason: `warm-up auto: ${found.reason}` };
      const inRecords = rank.keyless || (window.steps && window.steps.unit === "records");
      const warmup = inRecords
        ? { number: found.cut + rank.leading, unit: "records" }
        : { number: Math.max(0, start[found.cut] - rank.origin), unit: "steps" };
      window = { ...window, warmup };
    }
    const reason = whyImpossible(rank, window);
    if (reason) return { reason };
    const mask = new Uint8Array(rank.n);
    const total = rank.end - rank.origin;
    const [low, high] = window.last ? [0, 0] : borders(window, total, rank.leading);
    let clock = 0;
    for (let i = 0; i < rank.n; i += 1) {
      const from = start[i] - rank.origin, to = end[i] - rank.origin;
      let inside;
      if (window.last) {
        inside = window.last.unit === "records" ? i >= rank.n - window.last.number : from >= total - window.last.number - TOLERANCE;
      } else {
        const unit = window.warmup.unit;
        if (unit === "records") inside = i >= low;
        else if (unit === "epochs") inside = epoch[i] >= window.warmup.number;
        else if (unit === "s") inside = clock >= window.warmup.number;
        else inside = from >= low - TOLERANCE;
        if (inside && window.steps) inside = window.steps.unit === "records" ? i < high : to <= high + TOLERANCE;
      }
      mask[i] = inside ? 1 : 0;
      clock += time[i] * (rank.seconds ?? 0);
    }
    return { mask, reason: "" };
  }

  // ---------------------------------------------------------------- the estimators
  function ratesOf(rank, places) {
    const { start, end, time, work, epoch } = rank.columns;
    const n = places.length;
    const [clock, mean, perEpoch, origin] = rank.digits;
    const each = () => Float64Array.from(places, (i) => work[i] / time[i]);
    if (!(clock > 0 || mean > 0)) return { rates: each(), merged: false };
    const quanta = new Float64Array(n).fill(clock);
    if (mean) {
      let begin = perEpoch ? 0 : origin, before = -1;
      places.forEach((i, at) => {
        if (perEpoch && epoch[i] !== before) [begin, before] = [start[i], epoch[i]];
        quanta[at] = (end[i] - begin) * mean;
      });
    }
    if (places.every((i, at) => time[i] >= QUANTA * quanta[at])) return { rates: each(), merged: false };
    const passed = new Float64Array(n + 1), enough = new Float64Array(n);
    let most = -Infinity;
    places.forEach((i, at) => {
      passed[at + 1] = passed[at] + time[i];
      most = Math.max(most, passed[at + 1] - QUANTA * quanta[at]);
      enough[at] = most;
    });
    const bounds = [0];
    for (let place = 0; place < n;) {
      let low = 0, high = n; // the first place with enough, as numpy's searchsorted finds it
      while (low < high) {
        const half = (low + high) >> 1;
        if (enough[half] < passed[place]) low = half + 1; else high = half;
      }
      if (low + 1 > n) break;
      place = Math.max(low + 1, place + 1);
      bounds.push(place);
    }
    if (bounds.length < 2) return { rates: new Float64Array(0), merged: true };
    bounds[bounds.length - 1] = n; // what is left goes to the last one
    const rates = new Float64Array(bounds.length - 1);
    for (let b = 0; b + 1 < bounds.length; b += 1) {
      let works = 0, times = 0;
      for (let at = bounds[b]; at < bounds[b + 1]; at += 1) { works += work[places[at]]; times += time[places[at]]; }
      rates[b] = times > 0 ? works / times : NaN;
    }
    return { rates, merged: true };
  }

  function estimate(rank, mask, estimator) {
    const { time, work } = rank.columns;
    const places = [];
    for (let i = 0; i < rank.n; i += 1) if (mask[i]) places.push(i);
    if (!places.length) return { reason: "no measurement lies wholly inside the window" };
    if (estimator === "total") {
      const times = sum(time, mask), works = sum(work, mask);
      return times > 0 && works / times > 0 && works / times < Infinity
        ? { value: works / times, used: places.length }
        : { reason: "the measured time is zero or negative" };
    }
    const { rates, merged } = ratesOf(rank, places);
    if (merged && rates.length < LEAST_MERGED) {
      return { reason: `the ${places.length} records are too short for the digits of their clock: merged into stretches of ${QUANTA} times its last digit they are ${rates.length}, and ${LEAST_MERGED} are needed (take --estimator total)` };
    }
    const positive = rates.filter((rate) => Number.isFinite(rate) && rate > 0);
    const lost = rates.length - positive.length;
    if (lost > MOST_LEFT_OUT * rates.length) {
      return { reason: `${lost} of ${rates.length} records have no positive rate: an estimate of single records would leave out more than a tenth of them (take --estimator total)` };
    }
    if (estimator === "last") return { value: positive[positive.length - 1], used: places.length };
    if (estimator === "median") return { value: middle(positive), used: places.length };
    if (estimator === "mean") return { value: sum(positive) / positive.length, used: places.length };
    const drop = Math.max(5, Math.floor(positive.length * 0.05));
    if (positive.length <= 2 * drop) return { reason: `${positive.length} measurements, trimmed mean drops ${drop} at each end` };
    const kept = positive.sort().slice(drop, positive.length - drop);
    return { value: sum(kept) / kept.length, used: kept.length };
  }

  // Why a clock in whole seconds is too coarse for what the window holds (runs/doubts.py); empty where it is not.
  function whyTooCoarse(rank, mask) {
    if (!rank.wholeSeconds) return "";
    const { time, epoch } = rank.columns;
    const [byEpoch, more] = rank.wholeSeconds;
    const seconds = sum(time, mask), first = mask.indexOf(1), last = mask.lastIndexOf(1);
    const bars = byEpoch ? epoch[last] - epoch[first] + 1 : 1;
    const share = (bars + 2 * Math.sqrt(more / 6)) / seconds;
    if (share <= 0.03) return "";
    const pieces = bars > 1 ? ` in ${bars} bars` : more ? ` in ${bars + more} pieces` : "";
    return `the clock is printed in whole seconds, and ${general(seconds)} s${pieces} are measured: they may be ${Math.round(100 * share)}% off`;
  }

  // The number of one rank: {value, unit, used, mask} or {reason}.
  function ofRank(rank, settings) {
    if (rank.refused) return { reason: rank.refused };
    const window = taken(rank, settings);
    if (window.reason) return window;
    const found = estimate(rank, window.mask, settings.estimator);
    if (found.reason) return { reason: found.reason, mask: window.mask };
    const coarse = whyTooCoarse(rank, window.mask);
    if (coarse) return { reason: coarse, mask: window.mask };
    const value = found.value * rank.factor;
    if (!(value >= SLOWEST && value <= FASTEST)) return { reason: "no training has such a speed: the numbers on the lines are damaged", mask: window.mask };
    return { value, unit: rank.unit, used: found.used, mask: window.mask };
  }

  // The number of a run: that of its slowest rank, each of which waits for the others.
  function ofRun(run, settings) {
    if (!run.ranks.length) return { reason: run.reason };
    const all = run.ranks.map((rank) => ofRank(rank, settings));
    return all.reduce((slowest, one) => ((one.value ?? -1) < (slowest.value ?? -1) ? one : slowest));
  }

  // Centre and interval over runs (perflog/stats/centre.py): order statistics at 95 % or, of few runs, their ends.
  function ofRuns(values, aggregate) {
    const sorted = Float64Array.from(values).sort();
    const n = sorted.length;
    if (!n || (aggregate === "olympic" && n < 3)) return null;
    const drop = aggregate === "olympic" ? Math.max(1, Math.floor(n / 10)) : 0;
    const value = aggregate === "median" ? middle(sorted) : sum(sorted.slice(drop, n - drop)) / (n - 2 * drop);
    if (n < 2 || n > 1000 || aggregate !== "median") return { value, n };
    let best = [0, n - 1, 1 - 2 ** (1 - n)], below = 0, ways = 2 ** -n;
    for (let low = 0; low < n >> 1; low += 1) {
      below += ways;
      ways = ways * (n - low) / (low + 1);
      if (1 - 2 * below < 0.95) break;
      best = [low, n - 1 - low, 1 - 2 * below];
    }
    return { value, n, low: sorted[best[0]], high: sorted[best[1]], level: best[2] };
  }

  return { amount, ofRank, ofRun, ofRuns, middle, sum, general };
})();
