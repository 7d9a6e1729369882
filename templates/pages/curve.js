"use strict";
(() => {
  // A case's curve that answers: the point under the pointer or chosen by arrow keys says what it is, and a part of it can
  // be looked at closely. Without this script the page has the same curve as a picture.
  const box = document.querySelector("[data-curve]");
  if (!box) return;
  const data = JSON.parse(box.dataset.curve);
  const said = document.getElementById("curve-point");
  const all = document.getElementById("curve-all");
  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
  const parts = ["link", "better", "ink"]; // as the parts of the picture take turns in history.css
  const count = data.points.length;
  const xs = data.points.map((_, place) => place);
  const inPart = (nth, key) => data.points.map((point) => (point.part === nth ? point[key] : null));
  const numbers = Array.from(new Set(data.points.map((point) => point.part)));
  const most = 0.5; // a point's room on either side

  // The ends of intervals and of what was expected are series without a line: the scale then holds them.
  const expected = data.points.map((_, place) => data.expected.find(([at]) => at === place));
  const unseen = (values) => [{ label: "", stroke: "transparent", width: 0, points: { show: false } }, values];
  const columns = [
    ...numbers.map((nth) => [
      { stroke: () => colour(parts[nth % 3]), width: 0, paths: () => null, points: { show: true, size: 9, fill: () => colour(parts[nth % 3]) } },
      inPart(nth, "value"),
    ]),
    unseen(data.points.map((point) => point.low)), unseen(data.points.map((point) => point.high)),
    unseen(expected.map((found) => found?.[1] ?? null)), unseen(expected.map((found) => found?.[2] ?? null)),
  ];

  function stroke(u, name, width, dash, line) {
    u.ctx.save();
    u.ctx.beginPath();
    u.ctx.rect(u.bbox.left, u.bbox.top, u.bbox.width, u.bbox.height);
    u.ctx.clip();
    u.ctx.beginPath();
    u.ctx.strokeStyle = colour(name);
    u.ctx.lineWidth = width * uPlot.pxRatio;
    u.ctx.setLineDash(dash.map((length) => length * uPlot.pxRatio));
    for (const [from, to] of line) {
      u.ctx.moveTo(...from);
      u.ctx.lineTo(...to);
    }
    u.ctx.stroke();
    u.ctx.restore();
  }

  function behind(u) { // levels, intervals, changes, new parts, and where the last value was expected
    const x = (place) => u.valToPos(place, "x", true);
    const y = (value) => u.valToPos(value, "y", true);
    const upright = (place) => [[[x(place), u.bbox.top], [x(place), u.bbox.top + u.bbox.height]]];
    u.ctx.save();
    u.ctx.fillStyle = colour("band");
    for (const [place, low, high] of data.expected) u.ctx.fillRect(x(place - 0.35), y(high), x(place + 0.35) - x(place - 0.35), y(low) - y(high));
    u.ctx.restore();
    for (const [first, last, level, nth] of data.levels) stroke(u, parts[nth % 3], 1.2, [], [[[x(first - 0.4), y(level)], [x(last + 0.4), y(level)]]]);
    for (const [place, point] of data.points.entries()) {
      if (point.value !== null && point.low !== null) stroke(u, parts[point.part % 3], 1.4, [], [[[x(place), y(point.low)], [x(place), y(point.high)]]]);
    }
    for (const place of data.breaks) stroke(u, "quiet", 1.2, [4, 3], upright(place - 0.5));
    for (const [place, look] of data.changes) stroke(u, look === "open" ? "quiet" : look, 1.2, [], upright(place - 0.5));
  }

  function words(u) { // the size of each change at its line, on the side with more room
    u.ctx.save();
    u.ctx.font = `${12 * uPlot.pxRatio}px system-ui, sans-serif`;
    const write = (place, text, name, y) => {
      if (place - 0.5 < u.scales.x.min || place - 0.5 > u.scales.x.max) return;
      const x = u.valToPos(place - 0.5, "x", true);
      const left = x > u.bbox.left + u.bbox.width / 2;
      u.ctx.fillStyle = colour(name);
      u.ctx.textAlign = left ? "right" : "left";
      u.ctx.fillText(text, x + (left ? -5 : 5) * uPlot.pxRatio, y);
    };
    for (const [place, look, share] of data.changes) write(place, share, look === "open" ? "quiet" : look, u.bbox.top + u.bbox.height - 6 * uPlot.pxRatio);
    for (const place of data.breaks) write(place, data.new_part, "quiet", u.bbox.top + 12 * uPlot.pxRatio);
    u.ctx.restore();
  }

  const size = () => ({ width: box.clientWidth, height: Math.max(230, Math.min(360, box.clientWidth * 0.6)) });
  const named = (u, splits) => splits.map((place) => data.points[place]?.campaign ?? "");
  const options = {
    ...size(), padding: [12, 12, 0, 0],
    scales: { x: { time: false, range: (u, low, high) => [Math.max(-most, low - (low % 1 ? 0 : most)), Math.min(count - 1 + most, high + (high % 1 ? 0 : most))] } },
    legend: { show: false },
    cursor: { y: false, drag: { x: true, y: false, setScale: true }, points: { size: 13 } },
    series: [{}, ...columns.map(([series]) => series)],
    axes: [
      { stroke: () => colour("quiet"), grid: { show: false }, ticks: { show: false }, rotate: 40, size: 62, space: 34,
        splits: (u, at, low, high) => {
          const step = Math.max(1, Math.ceil((high - low) / (u.bbox.width / uPlot.pxRatio / 34)));
          return xs.filter((place) => place >= low && place <= high && place % step === 0);
        },
        values: (u, splits) => named(u, splits).map((name) => (name.length > 10 ? `${name.slice(0, 9)}…` : name)) },
      { stroke: () => colour("quiet"), grid: { stroke: () => colour("line"), width: 1 }, ticks: { show: false }, size: 62,
        values: (u, splits) => splits.map((value) => (value == null ? "" : String(Number(value.toPrecision(6))))) },
    ],
    hooks: {
      drawClear: [behind],
      draw: [words],
      setCursor: [(u) => { said.textContent = u.cursor.idx == null ? said.dataset.hint : data.points[u.cursor.idx].text; }],
      setScale: [(u, key) => { if (key === "x") all.hidden = u.scales.x.min <= -most && u.scales.x.max >= count - 1 + most; }],
    },
  };

  box.replaceChildren();
  box.classList.add("live");
  const u = new uPlot(options, [xs, ...columns.map(([, values]) => values)], box);
  pinched(u, (min, max) => u.setScale("x", { min: min + 1e-9, max: max - 1e-9 }));
  said.hidden = false;
  const whole = () => u.setScale("x", { min: 0, max: count - 1 });
  const at = (place) => {
    const { min, max } = u.scales.x;
    if (place < min || place > max) {
      const shift = place < min ? place - min - most : place - max + most;
      u.setScale("x", { min: min + shift + 1e-9, max: max + shift - 1e-9 });
    }
    u.setCursor({ left: u.valToPos(place, "x"), top: 10 });
  };
  const closer = (factor) => {
    const { min, max } = u.scales.x;
    const middle = u.cursor.idx ?? (min + max) / 2;
    const half = Math.max(1, ((max - min) / 2) * factor);
    if (half * 2 >= count) whole();
    else u.setScale("x", { min: middle - half + 1e-9, max: middle + half - 1e-9 });
  };
  box.addEventListener("keydown", (event) => {
    const now = u.cursor.idx;
    const moves = { ArrowLeft: (now ?? count) - 1, ArrowRight: (now ?? -1) + 1, Home: 0, End: count - 1 };
    if (event.key in moves) at(Math.min(count - 1, Math.max(0, moves[event.key])));
    else if (event.key === "+") closer(0.5);
    else if (event.key === "-") closer(2);
    else if (event.key === "0" || event.key === "Escape") whole();
    else return;
    event.preventDefault();
  });
  all.addEventListener("click", () => { whole(); box.focus(); });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => u.redraw());
  new ResizeObserver(() => { if (box.clientWidth !== u.width) u.setSize(size()); }).observe(box);
})();
