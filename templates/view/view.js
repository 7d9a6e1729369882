(() => {
  document.documentElement.classList.add("script");
  const $ = (id) => document.getElementById(id);
  const words = JSON.parse($("said").textContent);
  let data = JSON.parse($("data").textContent);
  const say = (name, values = {}) => words[name].replace(/\{(\w+)\}/g, (_, key) => String(values[key] ?? ""));
  const counted = (n, one, some) => say(n === 1 ? one : some, { n: n.toLocaleString(document.documentElement.lang) });
  const { number, seconds, share } = charts;
  const form = $("controls");
  $("settings").open = !matchMedia("(max-width: 40rem)").matches; // a phone's first screen shows a number
  const fields = ["warmup", "steps", "last", "estimator", "look", "x", "y"];

  function element(name, text = "", attributes = {}, ...inside) {
    const made = document.createElement(name);
    if (text) made.textContent = text; // text of logs is text: nothing of it is ever parsed
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    made.append(...inside);
    return made;
  }

  const ours = [...form.elements.estimator.options].map((option) => option.value);
  if (!ours.includes(data.settings.estimator)) form.elements.estimator.append(element("option", data.settings.estimator));

  // ---------------------------------------------------------------- the state, and the address of a view
  const state = { settings: null, look: "strips", x: "step", y: "time", outliers: false, zoom: null, selected: null };

  function fromAddress() {
    const given = new URLSearchParams(location.hash.slice(1));
    const defaults = { ...data.settings, look: "strips", x: "step", y: "time" };
    for (const name of fields) form.elements[name].value = given.get(name) ?? defaults[name] ?? "";
    if (!form.elements.estimator.value) form.elements.estimator.value = defaults.estimator; // no such one in an address
    form.elements.outliers.checked = given.get("outliers") === "1";
    const range = (name) => (given.get(name) ?? "").split("~").map(Number).filter(Number.isFinite);
    state.zoom = range("zoom").length === 2 ? range("zoom") : null;
    const [run, from, to] = range("selected");
    state.selected = to !== undefined && run < data.runs.length ? { run, from, to } : null;
    state.only = given.has("logs") ? given.get("logs").split(",") : null;
  }

  // The runs that the address asks for; all where it asks for none.
  const inView = () => data.runs.filter((run) => !state.only || state.only.includes(run.key));

  function toAddress() {
    const shown = new URLSearchParams();
    const defaults = { ...data.settings, look: "strips", x: "step", y: "time" };
    for (const name of fields) if (form.elements[name].value !== (defaults[name] ?? "")) shown.set(name, form.elements[name].value);
    if (state.outliers) shown.set("outliers", "1");
    if (state.zoom) shown.set("zoom", state.zoom.map(arithmetic.general).join("~"));
    if (state.only) shown.set("logs", state.only.join(","));
    if (state.selected) shown.set("selected", [state.selected.run, state.selected.from, state.selected.to].join("~"));
    const address = shown.size ? `#${shown}` : location.pathname + location.search;
    history.replaceState(null, "", address);
    $("link").href = shown.size ? address : "#";
  }

  function readControls() {
    const values = Object.fromEntries(fields.map((name) => [name, form.elements[name].value.trim()]));
    const wrong = [];
    const amountOf = (name) => {
      if (!values[name]) return null;
      const found = arithmetic.amount(values[name]);
      const fits = found && (name === "warmup" || ((found.unit === "steps" || found.unit === "records") && found.number > 0));
      form.elements[name].setAttribute("aria-invalid", String(!fits));
      if (!fits) wrong.push(say("wrong", { name: form.elements[name].labels[0].firstChild.textContent.trim() }));
      return found;
    };
    for (const name of ["warmup", "steps", "last"]) form.elements[name].removeAttribute("aria-invalid");
    const settings = { warmup: amountOf("warmup") ?? { number: 0, unit: "steps" }, steps: amountOf("steps"), last: amountOf("last"), estimator: values.estimator };
    form.elements.warmup.disabled = Boolean(values.last); // the last steps are taken whatever the warm-up
    if (settings.steps && settings.last) wrong.push(say("both"));
    const units = [settings.warmup, settings.steps].filter(Boolean).map((one) => one.unit === "records");
    if (!settings.last && settings.warmup.unit !== "auto" && units.length === 2 && units[0] !== units[1]) wrong.push(say("units"));
    $("wrong").textContent = wrong.join(" ");
    Object.assign(state, { look: values.look, x: values.x, y: values.y, outliers: form.elements.outliers.checked });
    if (!wrong.length) state.settings = settings;
    return !wrong.length;
  }

  const isCommands = () => ["warmup", "steps", "last", "estimator"].every((name) => form.elements[name].value.trim() === (data.settings[name] ?? ""));

  // ---------------------------------------------------------------- records
  async function unpack(run) {
    if (!run.ready) {
      run.ready = (async () => {
        for (const rank of run.ranks) {
          for (const group of [rank.columns, rank.metrics]) {
            for (const name of Object.keys(group)) group[name] = await charts.unpacked(group[name]);
          }
          const { time, covers, work } = rank.columns;
          const scale = rank.seconds;
          rank.perStep = scale === null ? null : charts.column(rank.n, (i) => time[i] / covers[i] * scale);
          rank.rate = rank.refused ? null : charts.column(rank.n, (i) => work[i] / time[i] * rank.factor);
          let clock = 0;
          rank.clock = scale === null ? null : charts.column(rank.n, (i) => (clock += time[i] * scale));
        }
      })();
    }
    await run.ready;
  }

  const along = (rank) => (state.x === "time" && rank.clock ? rank.clock : rank.columns.end);
  const heights = (rank) => (state.y === "time" && rank.perStep ? rank.perStep : rank.rate ?? rank.perStep);
  const isTime = (rank) => heights(rank) === rank.perStep;
  const heightText = (rank) => (isTime(rank) ? seconds : number);
  const nameOf = (metric) => words[metric] ?? metric;
  const beside = (rank) => Object.keys(rank.metrics).filter((name) => !rank.parts.includes(name));

  // The number of a run at the settings in force: the command's own where these are the command's.
  function numberOf(run) {
    const command = run.held ?? (isCommands() ? run : null);
    if (command) return { value: command.value ?? undefined, unit: command.unit, reason: command.reason, marks: command.marks, held: true };
    if (!run.ranks.length) return { reason: run.reason, marks: [], held: false };
    if (!ours.includes(state.settings.estimator)) return { reason: say("not_ours", { name: state.settings.estimator }), marks: [], held: false };
    const always = run.value === null && !run.ranks[0].impossible && !run.ranks[0].refused; // refused whatever the window
    if (always) return { reason: run.reason, marks: [], held: true };
    return { marks: [], held: false, ...arithmetic.ofRun(run, state.settings) };
  }

  // ---------------------------------------------------------------- a run
  const sections = new Map();

  function build() {
    for (const made of sections.values()) made.chart?.destroy();
    sections.clear();
    const runs = inView(), lacking = (state.only ?? []).filter((key) => data.runs.every((run) => run.key !== key)).length;
    $("only").hidden = !state.only;
    $("which").textContent = state.only ? say("only", { n: runs.length, all: data.runs.length }) + (lacking ? ` ${say("lacking", { n: lacking })}` : "") : "";
    $("runs").replaceChildren(...runs.map((run) => {
      const section = element("section", "", { class: "run", id: `run-${run.id}`, "aria-labelledby": `name-${run.id}` });
      const title = element("h2", run.name, { id: `name-${run.id}` });
      title.append(" ", element("span", `${run.case === run.name ? "" : `${run.case} · `}${say("lines", { first: run.lines[0], last: run.lines[1] })}`, { class: "quiet" }));
      const made = {
        run, section, headline: element("p", "", { class: "headline" }), estimators: element("p", "", { class: "estimators" }),
        box: element("div", "", { class: "chart", tabindex: "0", role: "group" }), under: element("p", "", { class: "under" }),
        costs: element("ul", "", { class: "costs" }), parts: element("div", "", { class: "parts-of-step" }),
        ranks: element("div", "", { class: "ranks" }), table: element("details"), notes: element("details"), at: -1,
      };
      section.append(title, made.headline, made.estimators);
      if (run.ranks.length) section.append(made.box, made.under, made.costs, made.parts, made.ranks, made.table);
      if (run.notes.length) {
        made.notes.append(element("summary", say("notes", { n: run.notes.length })), element("ul", "", {}, ...run.notes.map((note) => element("li", note))));
        section.append(made.notes);
      }
      keys(made);
      sections.set(run.id, made);
      return section;
    }));
    const all = runs.reduce((total, run) => total + run.ranks.reduce((n, rank) => n + rank.n, 0), 0);
    $("lead").textContent = say("lead", { runs: counted(runs.length, "run", "runs"), records: counted(all, "records", "records") });
    $("without").hidden = !data.skipped.length;
    $("without").querySelector("ul").replaceChildren(...data.skipped.map(([name, reason]) => element("li", "", {}, element("bdi", name), " ", element("span", reason))));
    for (const made of sections.values()) seen.observe(made.section);
  }

  const seen = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      const made = [...sections.values()].find((one) => one.section === entry.target);
      if (!made) continue;
      made.visible = entry.isIntersecting;
      if (made.visible && made.stale !== false) draw(made);
    }
  }, { rootMargin: "300px" });

  function sayNumber(made) {
    const { run } = made;
    const found = numberOf(run);
    made.found = found;
    made.section.dataset.value = found.value ?? "";
    made.section.dataset.reason = found.value === undefined ? found.reason : "";
    made.section.dataset.held = found.held;
    const parts = found.value === undefined
      ? [element("span", say("without_value", { reason: found.reason }), { class: "reason" })]
      : [element("span", `${number(found.value)} ${found.unit}`, { class: "value" })];
    for (const mark of found.marks) {
      parts.push(element("span", say(mark.open ? "open_mark" : "or_mark", { other: number(mark.other), label: mark.label }), { class: "marked" }));
    }
    if (found.value !== undefined) {
      if (found.used) parts.push(element("span", say("used", { n: found.used }), { class: "quiet" }));
      parts.push(element("span", say(found.held ? "held" : "unheld"), { class: "quiet" }));
    }
    made.headline.replaceChildren(...parts);
  }

  async function draw(made) {
    const { run } = made;
    if (!made.found) return; // its number comes first
    made.stale = false;
    if (!run.ranks.length) return;
    await unpack(run);
    const rank = run.ranks[0];
    made.rank = rank;
    made.window = arithmetic.ofRank(rank, { ...state.settings, estimator: "total" });
    made.outliers = outliers(made);
    drawStrip(made);
    sayCosts(made);
    setTimeout(() => sayEstimators(made)); // behind the picture: five estimates of many records take a moment
    drawParts(made);
    drawRanks(made);
    fillTable(made);
  }

  function sayEstimators(made) {
    const total = arithmetic.ofRun(made.run, { ...state.settings, estimator: "total" });
    const all = ["total", "mean", "median", "trimmed", "last"].map((estimator) => [estimator, arithmetic.ofRun(made.run, { ...state.settings, estimator })]);
    made.estimators.replaceChildren(...all.filter(([, one]) => one.value !== undefined).map(([name, one]) => {
      const off = total.value ? one.value / total.value - 1 : 0;
      const text = `${name} ${number(one.value)}`;
      return element("span", Math.abs(off) > 0.05 ? `${text} (${say("far", { share: `${off > 0 ? "+" : "−"}${share(Math.abs(off))}` })})` : text, Math.abs(off) > 0.05 ? { class: "far" } : {});
    }));
  }

  function range(made) {
    const xs = along(made.rank);
    const first = state.x === "time" && made.rank.clock ? 0 : made.rank.columns.start[0];
    const whole = [first, xs[xs.length - 1]];
    return state.zoom ? [Math.max(whole[0], state.zoom[0]), Math.min(whole[1], state.zoom[1])] : whole;
  }

  function drawStrip(made) {
    const { box, rank } = made;
    made.chart?.destroy();
    box.replaceChildren();
    const xs = along(rank), ys = heights(rank);
    if (!ys) { box.append(element("p", say("no_records", { reason: rank.refused }))); return; }
    let [low, high] = range(made);
    if (!(high > low)) [low, high] = [xs[0] - 1, xs[xs.length - 1] + 1];
    const from = Math.max(0, charts.place(xs, low) - 1), to = Math.min(rank.n, charts.place(xs, high) + 1);
    const gap = (i, each) => each === 1 && state.x === "step" && rank.columns.start[i] > rank.columns.end[i - 1] + 1e-9 && rank.columns.covers[i] >= rank.interval - 1e-9;
    const [px, py] = charts.thinned(xs, ys, from, to, box.clientWidth || 800, gap);
    const y = charts.limits(ys.subarray(from, to), state.outliers);
    made.y = y;
    made.chart = charts.chart(box, {
      height: 170, x: [low, high], y, yText: heightText(rank), xText: state.x === "time" ? seconds : undefined,
      series: [{ stroke: charts.variable("--strip"), points: { show: px.length < 80, size: 5 } }],
      hooks: {
        drawClear: [(plot) => shade(plot, made)], draw: [(plot) => mark(plot, made)],
        setCursor: [(plot) => { if (plot.cursor.left >= 0) point(made, nearest(xs, plot.posToVal(plot.cursor.left, "x"))); }],
        setSelect: [(plot) => select(made, plot)],
      },
    }, [px, py]);
    made.chart.over.addEventListener("dblclick", () => { state.zoom = null; zoomed(); });
    pinched(made.chart, closer);
    made.chart.over.addEventListener("click", () => { if (made.at >= 0 && !made.dragged) openRecord(made, made.at); made.dragged = false; });
    const found = made.found.value === undefined ? made.found.reason : `${number(made.found.value)} ${made.found.unit}`;
    if (made.at < 0) made.under.textContent = isTime(rank) ? say("time_of") : `${say("rate_of")}, ${rank.unit}`; // until a record is chosen
    box.setAttribute("aria-label", say("chart", { name: made.run.name, what: say(isTime(rank) ? "time_of" : "rate_of"), along: say("steps_of"), number: found }));
  }

  function nearest(xs, x) {
    const i = charts.place(xs, x);
    if (i <= 0) return 0;
    return i >= xs.length || x - xs[i - 1] < xs[i] - x ? i - 1 : i;
  }

  // What does not count is shaded; epochs begin at dashed lines.
  function shade(plot, made) {
    const { ctx, bbox } = plot;
    const { mask } = made.window;
    const xs = along(made.rank), { epoch } = made.rank.columns;
    const at = (i) => plot.valToPos(i < 0 ? range(made)[0] : xs[i], "x", true);
    ctx.save();
    ctx.beginPath(); ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height); ctx.clip();
    ctx.fillStyle = charts.variable("--shaded");
    let begin = -1;
    for (let i = 0; i <= made.rank.n; i += 1) {
      const out = i < made.rank.n && !(mask && mask[i]);
      if (out && begin < 0) begin = i;
      if (!out && begin >= 0) { ctx.fillRect(at(begin - 1), bbox.top, at(i - 1) - at(begin - 1), bbox.height); begin = -1; }
    }
    ctx.strokeStyle = charts.variable("--quiet");
    ctx.setLineDash([3, 4]);
    const epochs = epoch[made.rank.n - 1] - epoch[0];
    for (let i = 1; i < made.rank.n && epochs < 60; i += 1) { // more lines than that hide the curve
      if (epoch[i] === epoch[i - 1]) continue;
      ctx.beginPath(); ctx.moveTo(at(i - 1), bbox.top); ctx.lineTo(at(i - 1), bbox.top + bbox.height); ctx.stroke();
    }
    ctx.restore();
  }

  function outliers(made) {
    const { rank, window } = made;
    const { time, covers } = rank.columns;
    const inside = [];
    for (let i = 0; i < rank.n; i += 1) if (window.mask?.[i] && covers[i] > 0 && time[i] > 0) inside.push(i);
    if (!inside.length) return { usual: NaN, list: [], total: NaN };
    const usual = arithmetic.middle(charts.column(inside.length, (at) => time[inside[at]] / covers[inside[at]]));
    const total = inside.reduce((all, i) => all + time[i], 0);
    const list = inside.filter((i) => time[i] / covers[i] > 2 * usual).sort((a, b) => (time[b] - usual * covers[b]) - (time[a] - usual * covers[a]));
    return { usual, list, total };
  }

  // Outliers are points; those beyond the axis stand at its edge.
  function mark(plot, made) {
    const { ctx, bbox } = plot;
    const xs = along(made.rank), ys = heights(made.rank);
    ctx.save();
    ctx.fillStyle = charts.variable("--outlier");
    const ratio = devicePixelRatio;
    for (const i of made.outliers.list.slice(0, 3000)) {
      const x = plot.valToPos(xs[i], "x", true);
      if (x < bbox.left || x > bbox.left + bbox.width) continue;
      const y = Math.min(Math.max(plot.valToPos(ys[i], "y", true), bbox.top + 4 * ratio), bbox.top + bbox.height - 4 * ratio);
      ctx.beginPath(); ctx.arc(x, y, 3 * ratio, 0, 2 * Math.PI); ctx.fill();
    }
    ctx.font = `${11 * ratio}px system-ui, sans-serif`;
    ctx.textAlign = "left";
    ctx.strokeStyle = ctx.fillStyle = charts.variable("--gap");
    let free = -Infinity;
    for (const [line, , time] of made.rank.gaps) {
      const x = plot.valToPos(xs[charts.place(made.rank.columns.line, line)], "x", true);
      if (x < bbox.left - 1 || x > bbox.left + bbox.width + 1) continue;
      ctx.beginPath(); ctx.moveTo(x, bbox.top); ctx.lineTo(x, bbox.top + bbox.height); ctx.stroke();
      const text = seconds(time);
      const { width } = ctx.measureText(text);
      if (x < free || x + width + 4 * ratio > bbox.left + bbox.width) continue; // lengths stand where there is room
      ctx.fillText(text, x + 3 * ratio, bbox.top + 11 * ratio);
      free = x + width + 8 * ratio;
    }
    if (made.at >= 0 && made.focused) {
      ctx.strokeStyle = charts.variable("--ink");
      const x = plot.valToPos(xs[made.at], "x", true);
      ctx.beginPath(); ctx.moveTo(x, bbox.top); ctx.lineTo(x, bbox.top + bbox.height); ctx.stroke();
    }
    ctx.restore();
  }

  function describe(made, i) {
    const { rank } = made;
    const more = beside(rank).filter((name) => Number.isFinite(rank.metrics[name][i]));
    return [say("record", {
      step: arithmetic.general(rank.columns.end[i]), time: rank.perStep ? seconds(rank.perStep[i]) : "–",
      rate: rank.rate ? `${number(rank.rate[i])} ${rank.unit}` : "–", line: rank.columns.line[i],
    }), ...more.map((name) => `${nameOf(name)} ${number(rank.metrics[name][i])}`)].join(" · ");
  }

  function point(made, i) {
    made.at = i;
    made.under.textContent = describe(made, i);
  }

  // ---------------------------------------------------------------- what slow records cost
  function sayCosts(made) {
    const { rank } = made;
    const { time, covers, line } = rank.columns;
    const { usual, list, total } = made.outliers;
    const told = (i) => (rank.seconds === null ? "–" : seconds(time[i] * rank.seconds));
    const items = list.slice(0, 5).map((i) => {
      const button = element("button", say("cost", { line: line[i], time: told(i), times: Number((time[i] / covers[i] / usual).toPrecision(2)), share: share(time[i] / total) }), { type: "button" });
      button.addEventListener("click", () => openRecord(made, i));
      return element("li", "", {}, button);
    });
    if (list.length > 5) items.push(element("li", say("costs_more", { n: list.length - 5, share: share(list.slice(5).reduce((all, i) => all + time[i], 0) / total) })));
    const gaps = [...rank.gaps].sort((a, b) => b[2] - a[2]);
    for (const [before, behind, time] of gaps.slice(0, 3)) {
      const text = say("gap", { before, behind, time: seconds(time) });
      const button = element("button", text, { type: "button" });
      button.addEventListener("click", () => openLines(made, before, behind, text));
      items.push(element("li", "", {}, button));
    }
    if (gaps.length > 3) items.push(element("li", say("gaps_sum", { n: gaps.length, time: seconds(gaps.reduce((sum, gap) => sum + gap[2], 0)) })));
    made.costs.replaceChildren(...items);
  }

  function openRecord(made, i) {
    const line = made.rank.columns.line[i];
    openLines(made, line, line, describe(made, i));
  }

  function openLines(made, line, last, said) {
    const { run } = made;
    $("record-title").textContent = say("lines_title", { name: run.name, line });
    const inside = [element("p", said)];
    const texts = Object.entries(run.texts).map(([key, text]) => [Number(key), text]).filter(([key]) => key >= line - 1 && key <= last + 1);
    if (texts.some(([key]) => key === line)) {
      inside.push(element("pre", "", { tabindex: "0" }, ...texts.map(([key, text]) => element(key >= line && key <= last ? "mark" : "span", `${key}  ${text}\n`))));
    } else inside.push(element("p", say("no_text", { line, log: run.log })), element("pre", `sed -n ${line}p ${run.path}`, { tabindex: "0" }));
    $("record-body").replaceChildren(...inside);
    $("record").showModal();
    $("record-title").focus();
  }
  $("record").querySelector("button").addEventListener("click", () => $("record").close());

  // ---------------------------------------------------------------- parts of a step, ranks, the table
  function drawParts(made) {
    const { rank } = made;
    for (const one of made.below ?? []) one.destroy();
    made.below = [];
    made.parts.replaceChildren();
    const { parts } = rank;
    if (parts.length && rank.perStep) drawSplit(made, parts);
    for (const name of beside(rank)) drawBeside(made, name);
  }

  // What lines print beside their speed: loss, memory, MFU; each by itself, along the same axis.
  function drawBeside(made, name) {
    const { rank } = made;
    const { known, ys } = printed(rank, name), all = along(rank);
    if (!ys.length) return;
    const xs = ys.length === rank.n ? all : charts.column(ys.length, (at) => all[known[at]]);
    const [low, high] = range(made);
    const from = Math.max(0, charts.place(xs, low) - 1), to = Math.min(xs.length, charts.place(xs, high) + 1);
    const shown = ys.subarray(from, to);
    const box = element("div", "", { class: "chart", "aria-hidden": "true" });
    const ends = shown.length ? say("ends", { name: nameOf(name), first: number(shown[0]), last: number(shown[shown.length - 1]) }) : nameOf(name);
    made.parts.append(element("p", ends, { class: "quiet" }), box);
    if (!shown.length) return;
    const [px, py] = charts.thinned(xs, ys, from, to, box.clientWidth || 800);
    made.below.push(charts.chart(box, {
      height: 84, x: [low, high], y: charts.limits(shown, state.outliers), yText: number, xText: state.x === "time" ? seconds : undefined,
      series: [{ stroke: charts.variable("--strip"), points: { show: px.length < 80, size: 4 } }],
    }, [px, py]));
  }

  // The records that print a number beside their measures, and these numbers; found once.
  function printed(rank, name) {
    rank.printed ??= {};
    if (!rank.printed[name]) {
      const column = rank.metrics[name], known = [];
      for (let i = 0; i < rank.n; i += 1) if (Number.isFinite(column[i])) known.push(i);
      rank.printed[name] = { known, ys: known.length === rank.n ? column : charts.column(known.length, (at) => column[known[at]]) };
    }
    return rank.printed[name];
  }

  function drawSplit(made, parts) {
    const { rank } = made;
    const xs = along(rank), [low, high] = range(made);
    const from = Math.max(0, charts.place(xs, low) - 1), to = Math.min(rank.n, charts.place(xs, high) + 1);
    const sums = parts.map((_, at) => charts.column(rank.n, (i) => rank.perStep[i] * parts.slice(0, at + 1).reduce((all, name) => all + (rank.metrics[name][i] || 0), 0)));
    const all = [...sums, rank.perStep];
    const grid = buckets(xs, from, to, 400);
    const columns = all.map((ys) => grid.map(([begin, end]) => meanOf(ys, rank, begin, end)));
    made.parts.append(element("p", say("parts", { names: parts.join(", ") }), { class: "quiet" }));
    const key = element("div", "", { class: "keys" });
    [...parts, say("time_of")].forEach((name, at) => key.append(element("span", name, {}, swatch(at))));
    const box = element("div", "", { class: "chart", "aria-hidden": "true" });
    made.parts.append(key, box);
    made.below.push(charts.chart(box, {
      height: 110, x: [low, high], y: charts.limits(Float64Array.from(columns[columns.length - 1]), state.outliers).map((end, at) => (at ? end : 0)), yText: seconds,
      series: all.map((_, at) => ({ stroke: charts.colour(at), fill: at < parts.length ? `${charts.colour(at)}44` : undefined })),
    }, [grid.map(([begin, end]) => xs[Math.min(end, rank.n) - 1]), ...columns]));
  }

  function swatch(at) {
    const made = element("i");
    made.style.background = charts.colour(at);
    return made;
  }

  function buckets(xs, from, to, most) {
    const each = Math.max(1, Math.ceil((to - from) / most));
    const made = [];
    for (let begin = from; begin < to; begin += each) made.push([begin, Math.min(to, begin + each)]);
    return made;
  }

  function meanOf(ys, rank, begin, end) { // weighted by steps: the time of a step is total time over total steps
    let sum = 0, steps = 0;
    for (let i = begin; i < end; i += 1) { sum += ys[i] * rank.columns.covers[i]; steps += rank.columns.covers[i]; }
    return steps ? sum / steps : null;
  }

  async function drawRanks(made) {
    const { run } = made;
    made.ranks.replaceChildren();
    if (run.ranks.length < 2) return;
    const all = run.ranks.map((rank) => ({ rank, found: arithmetic.ofRank(rank, state.settings) })).sort((a, b) => (a.found.value ?? -1) - (b.found.value ?? -1));
    const table = element("table", "", {}, element("caption", say("ranks"), { class: "quiet" }));
    all.forEach(({ rank, found }, at) => {
      const canvas = element("canvas", "", { width: 400, height: 14, "aria-hidden": "true" });
      heat(canvas, rank);
      const text = found.value === undefined ? found.reason : `${number(found.value)} ${found.unit}${at === 0 ? ` · ${say("slowest")}` : ""}`;
      table.append(element("tr", "", {}, element("th", say("rank", { n: rank.rank }), { scope: "row" }), element("td", text), element("td", "", {}, canvas)));
    });
    made.ranks.append(element("div", "", { class: "scroll", tabindex: "0", role: "region", "aria-label": say("ranks") }, table));
  }

  function heat(canvas, rank) {
    const ctx = canvas.getContext("2d");
    const ys = rank.perStep ?? rank.rate;
    if (!ys) return;
    const [low, high] = charts.limits(ys, false);
    buckets(ys, 0, ys.length, 400).forEach(([begin, end], at, all) => {
      const value = (meanOf(ys, rank, begin, end) - low) / (high - low || 1);
      ctx.globalAlpha = 0.15 + 0.85 * Math.min(1, Math.max(0, value));
      ctx.fillStyle = charts.variable("--strip");
      ctx.fillRect(at * 400 / all.length, 0, 400 / all.length + 1, 14);
    });
  }

  function fillTable(made) {
    const { rank } = made;
    const rows = buckets(rank.columns.end, 0, rank.n, 40);
    made.table.replaceChildren(element("summary", say("table", { n: rows.length })));
    made.table.addEventListener("toggle", () => {
      if (!made.table.open || made.table.querySelector("table")) return;
      const more = beside(rank);
      const head = [...["steps_of", "records_of", "time_of", "rate_of"].map((name) => say(name)), ...more.map(nameOf)].map((name) => element("th", name, { scope: "col" }));
      const body = rows.map(([begin, end]) => {
        let work = 0, time = 0, steps = 0;
        for (let i = begin; i < end; i += 1) { work += rank.columns.work[i]; time += rank.columns.time[i]; steps += rank.columns.covers[i]; }
        const rate = rank.refused ? "–" : `${number(work / time * rank.factor)} ${rank.unit}`;
        const step = rank.seconds === null ? "–" : seconds(time / steps * rank.seconds);
        const names = `${arithmetic.general(rank.columns.start[begin])}–${arithmetic.general(rank.columns.end[end - 1])}`;
        return element("tr", "", {}, element("th", names, { scope: "row" }), element("td", String(end - begin)), element("td", step), element("td", rate), ...more.map((name) => {
          const known = rank.metrics[name].subarray(begin, end).findLast(Number.isFinite);
          return element("td", known === undefined ? "–" : number(known));
        }));
      });
      made.table.append(element("div", "", { class: "scroll", tabindex: "0", role: "region", "aria-label": say("table", { n: rows.length }) }, element("table", "", {}, element("thead", "", {}, element("tr", "", {}, ...head)), element("tbody", "", {}, ...body))));
    });
  }

  // ---------------------------------------------------------------- selecting steps
  function select(made, plot) {
    const { left, width } = plot.select;
    if (!(width > 3)) return;
    made.dragged = true;
    const xs = along(made.rank);
    choose(made, nearest(xs, plot.posToVal(left, "x")), nearest(xs, plot.posToVal(left + width, "x")));
  }

  function choose(made, first, last) {
    const { start, end } = made.rank.columns;
    const [low, high] = first <= last ? [first, last] : [last, first];
    state.selected = { run: made.run.id, from: start[low], to: end[high] };
    saySelected();
    toAddress();
  }

  function saySelected() {
    const chosen = state.selected;
    $("selection").hidden = !chosen;
    if (!chosen) return;
    const run = data.runs[chosen.run];
    const origin = run.ranks[0]?.origin ?? 0;
    const name = arithmetic.general;
    $("selected").textContent = say("selected", { from: name(chosen.from), to: name(chosen.to), name: run.name });
    $("command").textContent = `perflog extract ${run.path} --warmup ${chosen.from - origin} --steps ${chosen.to - chosen.from}${state.settings.estimator === "total" ? "" : ` --estimator ${state.settings.estimator}`}`;
  }

  $("measure").addEventListener("click", () => {
    const origin = data.runs[state.selected.run].ranks[0].origin;
    form.elements.warmup.value = state.selected.from - origin;
    form.elements.steps.value = state.selected.to - state.selected.from;
    form.elements.last.value = "";
    change();
  });
  $("zoom").addEventListener("click", () => {
    const made = sections.get(state.selected.run);
    const xs = along(made.rank), { end } = made.rank.columns;
    const at = (step) => xs[Math.min(xs.length - 1, charts.place(end, step))];
    state.zoom = [at(state.selected.from), at(state.selected.to)];
    zoomed();
  });
  $("unselect").addEventListener("click", () => { state.selected = null; state.zoom = null; zoomed(); });
  $("every").addEventListener("click", () => { state.only = null; toAddress(); build(); change(); });
  $("reset").addEventListener("click", () => {
    for (const name of ["warmup", "steps", "last", "estimator"]) form.elements[name].value = data.settings[name] ?? "";
    change();
  });

  function keys(made) {
    made.box.addEventListener("keydown", (event) => {
      const { rank } = made;
      if (!rank) return;
      const far = event.ctrlKey || event.metaKey ? Math.max(1, Math.round(rank.n / 50)) : 1;
      const moves = { ArrowRight: far, ArrowLeft: -far, PageDown: Math.round(rank.n / 10) || 1, PageUp: -Math.round(rank.n / 10) || -1, Home: -rank.n, End: rank.n };
      if (event.key in moves) {
        const before = made.at < 0 ? 0 : made.at;
        if (event.shiftKey) made.anchor ??= before; else made.anchor = undefined;
        point(made, Math.min(rank.n - 1, Math.max(0, before + moves[event.key])));
        if (event.shiftKey) choose(made, made.anchor, made.at);
        $("status").textContent = made.under.textContent;
        made.focused = true;
        made.chart?.redraw(false);
      } else if (event.key === "Enter" && made.at >= 0) openRecord(made, made.at);
      else if (event.key === "Escape") { state.zoom = null; state.selected = null; zoomed(); } else return;
      event.preventDefault();
    });
    made.box.addEventListener("blur", () => { made.focused = false; made.chart?.redraw(false); });
  }

  // ---------------------------------------------------------------- runs over each other, repeats as bands
  const MOST_TOGETHER = 40; // more curves than that nobody tells apart
  let together = [];

  async function drawTogether() {
    for (const one of together) one.destroy();
    together = [];
    const place = $("together");
    const isBands = state.look === "bands";
    $("runs").hidden = state.look !== "strips";
    place.hidden = state.look === "strips";
    if (place.hidden) return;
    const all = inView().filter((run) => run.ranks.length);
    await Promise.all(all.map(unpack));
    // One pair of axes has one unit each: the runs that have the first one's are shown.
    const unitsOf = ({ ranks: [rank] }) => [heights(rank) && (isTime(rank) ? "s" : rank.unit), state.x === "time" && rank.clock ? "s" : "steps"].join();
    const able = all.filter((run) => heights(run.ranks[0]) && unitsOf(run) === unitsOf(all.find((one) => heights(one.ranks[0]))));
    const timed = able.length > 0 && isTime(able[0].ranks[0]);
    const groups = isBands
      ? data.cases.map((one) => ({ name: one.name, runs: one.runs.map((id) => data.runs[id]).filter((run) => able.includes(run)) })).filter((one) => one.runs.length)
      : able.map((run) => ({ name: run.name, runs: [run] }));
    place.hiddenGroups ??= new Set();
    const shown = groups.slice(0, MOST_TOGETHER).filter((group) => !place.hiddenGroups.has(group.name));
    const key = element("div", "", { class: "keys" });
    groups.slice(0, MOST_TOGETHER).forEach((group, at) => {
      const box = element("input", "", { type: "checkbox" });
      box.checked = !place.hiddenGroups.has(group.name);
      box.addEventListener("change", () => { place.hiddenGroups[box.checked ? "delete" : "add"](group.name); drawTogether(); });
      const text = isBands ? say("band", { name: group.name, n: group.runs.length }) : `${group.name}${group === shown[0] ? ` (${say("base")})` : ""}`;
      key.append(element("label", "", {}, box, " ", swatch(at), text));
    });
    const box = element("div", "", { class: "chart", role: "img", "aria-label": say(isBands ? "records_of" : timed ? "time_of" : "rate_of") });
    place.replaceChildren(element("h2", timed || !able.length ? say("time_of") : `${say("rate_of")}, ${able[0].ranks[0].unit}`), key, box);
    if (able.length < all.length) place.append(element("p", say("other_units", { n: all.length - able.length }), { class: "quiet" }));
    if (groups.length > MOST_TOGETHER) place.append(element("p", say("first_of", { n: MOST_TOGETHER, all: groups.length }), { class: "quiet" }));
    if (!shown.length) return;
    const ends = shown.flatMap((group) => group.runs.map((run) => along(run.ranks[0])[run.ranks[0].n - 1]));
    const [low, high] = state.zoom ?? [0, Math.max(...ends)];
    const records = shown.flatMap((group) => group.runs.map((run) => spanOf(run.ranks[0])));
    const width = Math.max((high - low) / Math.min(500, Math.max(20, box.clientWidth || 600)), ...records);
    const grid = Array.from({ length: Math.ceil((high - low) / width) }, (_, i) => low + (i + 0.5) * width);
    const lines = shown.map((group) => group.runs.map((run) => binned(run.ranks[0], low, width, grid.length)));
    const middleOf = (columns) => grid.map((_, i) => { const known = columns.map((one) => one[i]).filter((value) => value !== null); return known.length ? arithmetic.middle(known) : null; });
    const edge = (columns, pick) => grid.map((_, i) => { const known = columns.map((one) => one[i]).filter((value) => value !== null); return known.length ? pick(...known) : null; });
    const series = [], columns = [], bands = [];
    lines.forEach((of_group, at) => {
      const place_ = groups.indexOf(shown[at]);
      if (isBands && of_group.length > 1) {
        columns.push(edge(of_group, Math.max), edge(of_group, Math.min));
        series.push({ stroke: "transparent", spanGaps: true }, { stroke: "transparent", spanGaps: true });
        bands.push({ series: [series.length - 1, series.length], fill: `${charts.colour(place_)}33` });
      }
      columns.push(middleOf(of_group));
      series.push({ stroke: charts.colour(place_), spanGaps: true });
    });
    const rank = shown[0].runs[0].ranks[0];
    const flat = Float64Array.from(columns.flat().filter((value) => value !== null));
    together.push(charts.chart(box, { height: 300, x: [low, high], y: charts.limits(flat, state.outliers), yText: heightText(rank), xText: state.x === "time" ? seconds : undefined, series, bands, hooks: { setSelect: [(plot) => { if (plot.select.width > 3) { state.zoom = [plot.posToVal(plot.select.left, "x"), plot.posToVal(plot.select.left + plot.select.width, "x")]; zoomed(); } }] } }, [grid, ...columns]));
    together[0].over.addEventListener("dblclick", () => { state.zoom = null; zoomed(); });
    pinched(together[0], closer);
    if (shown.length > 1) {
      const base = middleOf(lines[0]);
      const ratios = lines.slice(1).map((of_group) => middleOf(of_group).map((value, i) => (value === null || !base[i] ? null : value / base[i])));
      const below = element("div", "", { class: "chart", role: "img", "aria-label": say("ratio", { name: shown[0].name }) });
      place.append(element("h2", say("ratio", { name: shown[0].name })), element("p", say(timed ? "ratio_time" : "ratio_rate"), { class: "quiet" }), below);
      together.push(charts.chart(below, { height: 160, x: [low, high], y: charts.limits(Float64Array.from([1, ...ratios.flat().filter((value) => value !== null)]), state.outliers), yText: (value) => String(Number(value.toPrecision(4))), xText: state.x === "time" ? seconds : undefined, series: ratios.map((_, at) => ({ stroke: charts.colour(groups.indexOf(shown[at + 1])), spanGaps: true })) }, [grid, ...ratios]));
    }
  }

  // How far a rank's records lie apart along the axis, on the average: a bin holds one of each run at least.
  const spanOf = (rank) => along(rank)[rank.n - 1] / Math.max(1, rank.n);

  // The height of a rank's records in bins along the axis: total over total, as all numbers are made.
  function binned(rank, low, width, n) {
    const xs = along(rank), { time, work, covers } = rank.columns;
    const byTime = state.y === "time" && rank.perStep;
    const above = new Float64Array(n), below = new Float64Array(n);
    for (let i = 0; i < rank.n; i += 1) {
      const bin = Math.min(n - 1, Math.floor((xs[i] - low) / width - 1e-9));
      if (bin < 0 || xs[i] > low + n * width + 1e-9) continue;
      above[bin] += byTime ? time[i] * rank.seconds : work[i] * rank.factor;
      below[bin] += byTime ? covers[i] : time[i];
    }
    return Array.from(above, (value, i) => (below[i] > 0 ? value / below[i] : null));
  }

  // ---------------------------------------------------------------- cases, and everything anew
  function sayCases() {
    const known = data.cases.filter((one) => one.runs.length > 1 && !one.machines && one.runs.every((id) => sections.has(id)));
    const lines = known.map((one) => {
      const values = one.runs.map((id) => sections.get(id).found.value).filter((value) => value !== undefined);
      const found = arithmetic.ofRuns(values, data.settings.aggregate);
      const units = new Set(one.runs.map((id) => sections.get(id).found.unit).filter(Boolean));
      const value = isCommands() ? one.value : units.size === 1 ? found?.value : undefined; // one number has one unit
      if (value === null || value === undefined) return element("li", `${one.name}: ${say("without_value", { reason: one.reason })}`);
      const interval = found?.level ? `, ${say("interval", { low: number(found.low), high: number(found.high), level: share(found.level) })}` : "";
      const item = element("li", say("case_of", { name: one.name, value: `${number(value)} ${one.unit}${interval}`, n: `n = ${values.length}` }));
      item.dataset.value = value;
      return item;
    });
    let box = $("cases");
    if (!box) {
      box = element("details", "", { id: "cases" }, element("summary"), element("ul"));
      box.open = lines.length <= 4;
      $("lead").after(box);
    }
    box.querySelector("summary").textContent = say("cases", { n: lines.length });
    box.querySelector("ul").replaceChildren(...lines);
    box.hidden = !lines.length;
  }

  let asked = 0;
  async function change() {
    const turn = ++asked;
    if (!readControls()) return;
    for (const run of data.runs) run.held = undefined;
    if (!isCommands()) await Promise.all(data.runs.map(unpack));
    if (turn !== asked) return;
    for (const made of sections.values()) { made.stale = true; sayNumber(made); }
    sayCases();
    toAddress();
    saySelected();
    for (const made of sections.values()) if (made.visible) await draw(made);
    await drawTogether();
    document.body.dataset.settings = ["warmup", "steps", "last", "estimator"].map((name) => form.elements[name].value.trim()).join("|");
    if (live && !isCommands()) await heldNumbers(turn);
  }

  // Another part of the same numbers: nothing is computed anew, and the picture of a million records follows at once.
  async function zoomed() {
    toAddress();
    saySelected();
    for (const made of sections.values()) {
      if (!made.visible || !made.rank) { made.stale = true; continue; }
      drawStrip(made);
      drawParts(made);
    }
    await drawTogether();
  }

  const closer = (low, high) => { state.zoom = [Math.max(0, low), high]; zoomed(); };

  let waiting = 0;
  form.addEventListener("input", () => { clearTimeout(waiting); waiting = setTimeout(change, 150); });
  form.addEventListener("submit", (event) => event.preventDefault());
  let resized = 0;
  addEventListener("resize", () => { clearTimeout(resized); resized = setTimeout(change, 150); });
  addEventListener("hashchange", () => {
    const controls = () => [...fields.map((name) => form.elements[name].value), form.elements.outliers.checked].join("|");
    const [before, only] = [controls(), String(state.only)];
    fromAddress();
    if (String(state.only) !== only) { build(); change(); } else if (controls() === before) zoomed(); else change();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", change);

  // ---------------------------------------------------------------- a server that follows the logs
  const live = document.body.dataset.live;
  const from = (what, more = {}) => fetch(`${what}?${new URLSearchParams({ token: live, ...more })}`);

  async function heldNumbers(turn) {
    const given = Object.fromEntries(["warmup", "steps", "last", "estimator"].map((name) => [name, form.elements[name].value.trim()]));
    const answer = await from("numbers", given).catch(() => null);
    if (!answer?.ok || turn !== asked) return;
    (await answer.json()).forEach((found, at) => { if (data.runs[at]) data.runs[at].held = found; });
    for (const made of sections.values()) sayNumber(made);
    sayCases();
  }

  async function follow() {
    let version = document.body.dataset.version; // of what the page was made with
    for (;;) {
      try {
        const answer = await from("data", { version });
        if (answer.status === 200) {
          version = answer.headers.get("X-Version");
          data = await answer.json();
          build();
          await change();
        }
      } catch { $("status").textContent = say("gone"); document.body.append(element("p", say("gone"), { class: "under" })); return; }
      await new Promise((wake) => { setTimeout(wake, 1000); });
    }
  }

  fromAddress();
  build();
  change().then(() => {
    document.body.dataset.ready = "true";
    if (live) follow();
  });
})();
