"use strict";
(() => {
  // Without this script the page is whole: numbers are links to the details at its end. With it the details stay text in
  // <noscript> until they are looked at: a page of a thousand cases opens at once. That text is the page's own markup, in
  // which everything of logs and paths was escaped when it was made; nothing else is ever parsed.
  const cases = new Map(Array.from(document.querySelectorAll("[data-case]"), (place) => [place.dataset.case, place]));
  const parser = new DOMParser();
  const plain = new Map();
  const markup = (place) => place.querySelector("noscript").textContent;

  // ---------------------------------------------------------------- the panel, and the address of a number
  const panel = document.getElementById("panel");
  const title = document.getElementById("panel-title");
  const body = document.getElementById("panel-body");

  function target(hash) {
    let name = hash.slice(1);
    try { name = decodeURIComponent(name); } catch { /* no address of a case */ }
    const [id, metric] = name.split("/");
    return cases.has(id) ? [id, metric] : null;
  }

  function show(id, metric) {
    const details = parser.parseFromString(markup(cases.get(id)), "text/html");
    title.textContent = details.querySelector("summary").textContent;
    body.replaceChildren(...details.querySelector("article").childNodes);
    for (const row of body.querySelectorAll("tr[data-metric]")) {
      row.classList.toggle("chosen", row.dataset.metric === metric);
      row.removeAttribute("id"); // else the browser scrolls to it, under the panel's bar
    }
    if (!panel.open) panel.showModal();
    for (const box of body.querySelectorAll(".scroll")) if (box.scrollWidth > box.clientWidth) box.tabIndex = 0; // for keys
    panel.scrollTop = 0;
    title.focus();
  }

  function follow() {
    const found = target(location.hash);
    if (found) show(...found);
    else if (panel.open) panel.close();
  }

  document.addEventListener("click", (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
    if (event.target === panel) return panel.close(); // beside the panel: its backdrop
    const cell = event.target.closest("table[data-sortable] td");
    const link = event.target.closest("a") ?? cell?.querySelector("a");
    const found = link && target(link.hash);
    if (!found) return;
    event.preventDefault();
    if (link.hash !== location.hash) history.pushState(null, "", link.hash);
    show(...found);
  });
  panel.querySelector("button").addEventListener("click", () => panel.close());
  panel.addEventListener("close", () => {
    if (target(location.hash)) history.replaceState(null, "", location.pathname + location.search);
  });
  addEventListener("popstate", follow);
  addEventListener("hashchange", follow);
  follow();

  // ---------------------------------------------------------------- long tables and wide ones
  const most = 60;
  const numbersOf = (row) => Array.from(row.cells, (cell) => (cell.firstElementChild ?? cell).textContent).join(" ");
  const parts = Array.from(document.querySelectorAll(".part"), (part) => {
    const table = part.querySelector("table");
    const heads = `${part.querySelector("h3")?.textContent ?? ""} ${table.tHead.textContent}`;
    const rows = Array.from(table.tBodies[0].rows, (row) => [`${heads} ${numbersOf(row)}`.toLowerCase(), row]);
    const all = part.querySelector(".show-all");
    if (rows.length > most) {
      table.classList.add("short");
      all.hidden = false;
      all.querySelector("button").addEventListener("click", () => {
        table.classList.remove("short");
        all.hidden = true;
      });
    }
    return { part, table, rows, all };
  });
  const search = document.getElementById("search");

  // ---------------------------------------------------------------- what a view shows, in the page's address
  const given = new URLSearchParams(location.search);
  const gone = new Set((given.get("hide") ?? "").split(",").filter(Boolean));
  let only = given.get("part") ?? "";

  function remember() {
    inAddress("q", search.value.trim());
    inAddress("part", only);
    inAddress("hide", [...gone].join(","));
  }

  // ---------------------------------------------------------------- columns
  const choices = document.querySelector("#columns > div");
  const titles = new Map();
  for (const head of document.querySelectorAll(".results th[data-name]")) {
    const name = head.textContent.replace(/\s*\(.*\)$/, "");
    if (!titles.has(head.dataset.name)) titles.set(head.dataset.name, name);
  }

  function showColumns() {
    for (const { table, rows } of parts) {
      const heads = Array.from(table.querySelectorAll("th[data-name]"));
      for (const head of heads) {
        head.hidden = gone.has(head.dataset.name);
        for (const [, row] of rows) row.cells[head.dataset.column].hidden = head.hidden;
      }
      const groups = table.querySelectorAll("th.group");
      const left = heads.filter((head) => head.rowSpan === 1 && !head.hidden).length / groups.length;
      for (const group of groups) {
        group.hidden = left === 0;
        if (left) group.colSpan = left;
      }
    }
  }

  for (const [name, text] of titles) {
    const box = document.createElement("input");
    box.type = "checkbox";
    box.checked = !gone.has(name);
    box.addEventListener("change", () => {
      if (box.checked) gone.delete(name);
      else gone.add(name);
      showColumns();
      remember();
    });
    const label = document.createElement("label");
    label.append(box, ` ${text}`);
    choices.append(label);
  }
  if (gone.size) showColumns();

  // ---------------------------------------------------------------- the index of sections: one alone
  const index = Array.from(document.querySelectorAll("nav.parts a"), (link) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = link.textContent;
    button.dataset.part = link.hash.slice("#results-".length);
    button.addEventListener("click", () => {
      only = only === button.dataset.part ? "" : button.dataset.part;
      filter();
    });
    link.replaceWith(button);
    return button;
  });
  if (!index.some((button) => button.dataset.part === only)) only = "";

  // ---------------------------------------------------------------- marks of notes
  for (const mark of document.querySelectorAll(".results sup a")) {
    const note = document.getElementById(mark.hash.slice(1));
    if (!note) continue;
    mark.title = note.textContent;
    mark.addEventListener("click", () => { note.closest("details").open = true; });
  }

  // ---------------------------------------------------------------- the points of pictures
  const tip = document.getElementById("tip");
  const near = 22; // pixels
  for (const svg of document.querySelectorAll(".picture svg")) {
    const points = Array.from(svg.querySelectorAll("[data-point]"), (element) => {
      const text = element.querySelector("title").textContent;
      element.querySelector("title").remove(); // the browser's own box would stand over ours
      return { element, text };
    });
    if (!points.length) continue;
    const at = (event) => {
      const over = points.find(({ element }) => element === event.target);
      if (over) return over;
      const apart = ({ element }) => {
        const box = element.getBoundingClientRect();
        return Math.hypot(event.clientX - box.x - box.width / 2, event.clientY - box.y - box.height / 2);
      };
      const closest = points.reduce((best, point) => (apart(point) < apart(best) ? point : best));
      return apart(closest) < near ? closest : null;
    };
    svg.addEventListener("pointermove", (event) => {
      const point = at(event);
      tip.hidden = !point;
      svg.classList.toggle("at-point", Boolean(point));
      if (!point) return;
      tip.textContent = point.text;
      const left = Math.min(event.clientX + 14, innerWidth - tip.offsetWidth - 8);
      tip.style.left = `${Math.max(8, left)}px`;
      tip.style.top = `${event.clientY > innerHeight / 2 ? event.clientY - tip.offsetHeight - 12 : event.clientY + 16}px`;
    });
    svg.addEventListener("pointerleave", () => { tip.hidden = true; });
    svg.addEventListener("click", (event) => {
      const point = at(event);
      if (!point) return;
      tip.hidden = true;
      const hash = `#${point.element.dataset.point}`;
      if (hash !== location.hash) history.pushState(null, "", hash);
      show(...target(hash));
    });
  }

  const wide = new ResizeObserver((seen) => {
    for (const { target: box } of seen) {
      const sign = box.nextElementSibling;
      if (sign?.classList.contains("sideways")) sign.hidden = box.scrollWidth <= box.clientWidth + 1;
    }
  });
  for (const box of document.querySelectorAll(".tabled > .scroll")) wide.observe(box);

  // ---------------------------------------------------------------- filter and search
  const count = document.getElementById("search-count");
  const found = document.getElementById("search-found");
  const listed = 20;

  function textOf(id) {
    if (!plain.has(id)) {
      const apart = markup(cases.get(id)).replaceAll("<", " <"); // what stands in two cells is two words
      const text = parser.parseFromString(apart, "text/html").body.textContent;
      plain.set(id, text.toLowerCase());
    }
    return plain.get(id);
  }

  function filter() {
    const words = wordsOf(search.value);
    const holds = (text) => words.every((word) => word.test(text));
    const inRows = new Set();
    let shown = 0;
    let total = 0;
    for (const { part, table, rows, all } of parts) {
      let left = 0;
      for (const [text, row] of rows) {
        row.hidden = !holds(text);
        if (row.hidden) continue;
        left += 1;
        if (words.length) for (const link of row.querySelectorAll("td > a")) inRows.add(target(link.hash)?.[0]);
      }
      const name = part.dataset.part;
      const own = index.find((button) => button.dataset.part === name);
      if (own) {
        own.setAttribute("aria-pressed", String(only === name));
        own.hidden = left === 0;
      }
      part.hidden = left === 0 || Boolean(only && only !== name);
      if (only && only !== name) continue;
      table.classList.toggle("filtered", words.length > 0);
      if (table.classList.contains("short")) all.hidden = words.length > 0;
      shown += left;
      total += rows.length;
    }
    count.textContent = words.length ? `${shown} / ${total}` : "";
    const others = words.length ? Array.from(cases.keys()).filter((id) => !inRows.has(id) && holds(textOf(id))) : [];
    list(others);
    remember();
  }

  function list(ids) {
    const items = ids.slice(0, listed).map((id) => {
      const link = document.createElement("a");
      link.href = `#${id}`;
      link.textContent = parser.parseFromString(markup(cases.get(id)), "text/html").querySelector("summary").textContent;
      const item = document.createElement("li");
      item.append(link);
      return item;
    });
    if (ids.length > listed) {
      const rest = document.createElement("li");
      rest.textContent = found.dataset.more.replace("{count}", ids.length - listed);
      items.push(rest);
    }
    found.querySelector("ul").replaceChildren(...items);
    found.hidden = ids.length === 0;
  }

  let waiting = 0;
  search.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(filter, 120);
  });
  if (given.has("q")) search.value = given.get("q");
  if (search.value || index.length) filter(); // what the address says, or a browser kept when it came back to the page
})();
