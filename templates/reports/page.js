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
  const wide = new ResizeObserver((seen) => {
    for (const { target: box } of seen) {
      const sign = box.nextElementSibling;
      if (sign?.classList.contains("sideways")) sign.hidden = box.scrollWidth <= box.clientWidth + 1;
    }
  });
  for (const box of document.querySelectorAll(".part > .scroll")) wide.observe(box);

  // ---------------------------------------------------------------- filter and search
  const search = document.getElementById("search");
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
      part.hidden = left === 0;
      table.classList.toggle("filtered", words.length > 0);
      if (table.classList.contains("short")) all.hidden = words.length > 0;
      shown += left;
      total += rows.length;
    }
    count.textContent = words.length ? `${shown} / ${total}` : "";
    const others = words.length ? Array.from(cases.keys()).filter((id) => !inRows.has(id) && holds(textOf(id))) : [];
    list(others);
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
  if (search.value) filter(); // what a browser kept in the box when it came back to the page
})();
