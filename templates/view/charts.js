// Columns, numbers as text, and charts of records that stay smooth whatever their number: of the records that share a
// pixel the least and the greatest are drawn, never a sample.
const charts = (() => {
  function column(n, valueAt) { // a plain loop: Float64Array.from takes ten times as long
    const made = new Float64Array(n);
    for (let i = 0; i < n; i += 1) made[i] = valueAt(i);
    return made;
  }

  async function unpacked(packed) {
    if (!packed.bytes) return column(packed.n, (i) => packed.first + packed.step * i);
    const binary = atob(packed.bytes);
    const bytes = new Uint8Array(binary.length);
    for (let i = 0; i < binary.length; i += 1) bytes[i] = binary.charCodeAt(i);
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
    const planes = new Uint8Array(await new Response(stream).arrayBuffer());
    const size = packed.power ? 4 : 8;
    const result = new Uint8Array(size * packed.n);
    for (let plane = 0; plane < size; plane += 1) {
      for (let i = 0; i < packed.n; i += 1) result[size * i + plane] = planes[plane * packed.n + i];
    }
    if (!packed.power) return new Float64Array(result.buffer);
    const whole = new Int32Array(result.buffer); // over a power of ten: decimals of few digits
    return column(packed.n, (i) => whole[i] / packed.power);
  }

  function number(value) {
    if (!Number.isFinite(value)) return "–";
    const size = Math.abs(value);
    if (size >= 100) return value.toFixed(2);
    return size >= 1e-3 || size === 0 ? String(Number(value.toPrecision(5))) : value.toExponential(3);
  }

  function seconds(value) {
    if (!Number.isFinite(value)) return "–";
    if (value >= 120) return `${number(value / 60)} min`;
    return value < 0.1 ? `${Number((value * 1000).toPrecision(4))} ms` : `${Number(value.toPrecision(4))} s`;
  }

  const share = (value) => `${Number((100 * value).toPrecision(2))} %`;

  // The first place whose value is not below one, in a rising column.
  function place(values, wanted) {
    let low = 0, high = values.length;
    while (low < high) {
      const half = (low + high) >> 1;
      if (values[half] < wanted) low = half + 1; else high = half;
    }
    return low;
  }

  // Points (xs, ys) from one place to another, at most four for each of some pixels; gaps are null.
  function thinned(xs, ys, from, to, pixels, gaps) {
    const outX = [], outY = [];
    const each = Math.max(1, Math.ceil((to - from) / Math.max(1, 2 * pixels)));
    for (let begin = from; begin < to; begin += each) {
      const end = Math.min(to, begin + each);
      if (gaps && begin > from && gaps(begin, each)) { outX.push(xs[begin] - 1e-9); outY.push(null); }
      let low = begin, high = begin;
      for (let i = begin + 1; i < end; i += 1) {
        if (ys[i] < ys[low]) low = i;
        if (ys[i] > ys[high]) high = i;
      }
      for (const i of low === high ? [low] : [Math.min(low, high), Math.max(low, high)]) { outX.push(xs[i]); outY.push(ys[i]); }
    }
    return [outX, outY];
  }

  // What an axis shows without outliers: the middle 98 % of the values, and room for what scatters beside them.
  function limits(values, all) {
    const step = Math.max(1, Math.floor(values.length / 20000));
    const some = [];
    for (let i = 0; i < values.length; i += step) if (Number.isFinite(values[i])) some.push(values[i]);
    if (!some.length) return [0, 1];
    let low = Infinity, high = -Infinity;
    if (all) for (const value of values) { if (value < low) low = value; if (value > high) high = value; }
    else {
      some.sort((a, b) => a - b);
      const at = (part) => some[Math.round(part * (some.length - 1))];
      const far = 6 * (at(0.75) - at(0.25)) || 0.02 * at(0.5);
      low = Math.max(at(0), at(0.5) - far);
      high = Math.min(at(1), at(0.5) + far);
    }
    const room = 0.08 * Math.max(high - low, 0.002 * Math.abs(high), 1e-12);
    return [low < 0 ? low - room : Math.max(0, low - room), high + room];
  }

  const COLOURS = ["#2a6fb0", "#b3380b", "#0a7355", "#7a4ea3", "#8a5a00", "#a1245c", "#3d6b7d", "#5c6b1e"];
  const DARK = ["#7ab8f0", "#f5915c", "#57cfa4", "#c3a0ea", "#e9bd62", "#f08cb8", "#93c5d8", "#bfd06a"];
  const isDark = () => matchMedia("(prefers-color-scheme: dark)").matches;
  const colour = (place) => (isDark() ? DARK : COLOURS)[place % COLOURS.length];
  const variable = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

  // A chart of one or more lines; `options`: {height, series: [{label, stroke, fill?, dash?}], bands?, y: [low, high],
  // x: [low, high], yText, hooks}. Labels stand on the axes alone: what the pointer is at stands below the chart.
  function chart(box, options, data) {
    const axis = { stroke: variable("--quiet"), grid: { stroke: variable("--line"), width: 1 }, ticks: { stroke: variable("--line"), width: 1 }, font: "12px system-ui, sans-serif" };
    const made = new uPlot({
      width: Math.max(220, box.clientWidth), height: options.height,
      legend: { show: false }, padding: [8, 26, 0, 0],
      cursor: { y: false, drag: { x: true, y: false, setScale: false }, points: { show: false } },
      scales: { x: { time: false, range: () => options.x }, y: { range: () => options.y } },
      axes: [{ ...axis, size: 28, values: (_, ticks) => ticks.map((tick) => (options.xText ?? arithmetic.general)(tick)) },
        { ...axis, size: 64, values: (_, ticks) => ticks.map(options.yText) }],
      series: [{}, ...options.series.map((one) => ({ width: 1.2, points: { show: false }, spanGaps: false, ...one }))],
      bands: options.bands ?? [], hooks: options.hooks ?? {},
    }, data, box);
    return made;
  }

  return { column, unpacked, number, seconds, share, place, thinned, limits, colour, variable, chart };
})();
