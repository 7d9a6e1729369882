"use strict";
(() => {
  // Without this script the page is whole: numbers are links to the details at its end.
  document.documentElement.classList.add("script");
  const order = new Intl.Collator(document.documentElement.lang, { numeric: true });

  function sort(table, heading) {
    const column = Number(heading.dataset.column);
    const numeric = "numeric" in heading.dataset;
    const down = heading.getAttribute("aria-sort") === "ascending";
    for (const other of table.querySelectorAll("th[aria-sort]")) other.setAttribute("aria-sort", "none");
    heading.setAttribute("aria-sort", down ? "descending" : "ascending");
    const body = table.tBodies[0];
    const keyed = Array.from(body.rows, (row) => [row.cells[column].dataset.sort ?? "", row]);
    keyed.sort(([a], [b]) => {
      if (a === "" || b === "") return (a === "") - (b === ""); // what is missing stays last either way
      const less = numeric ? Number(a) - Number(b) : order.compare(a, b);
      return down ? -less : less;
    });
    body.append(...keyed.map(([, row]) => row));
  }

  for (const table of document.querySelectorAll("table[data-sortable]")) {
    for (const heading of table.querySelectorAll("th[data-column]")) {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...heading.childNodes);
      button.addEventListener("click", () => sort(table, heading));
      heading.setAttribute("aria-sort", "none");
      heading.append(button);
    }
  }

  const panel = document.getElementById("panel");
  const title = document.getElementById("panel-title");
  const body = document.getElementById("panel-body");

  function show(article, metric) {
    title.textContent = article.closest("details").querySelector("summary").textContent;
    body.replaceChildren(...article.cloneNode(true).childNodes);
    for (const row of body.querySelectorAll("tr[data-metric]")) {
      if (row.dataset.metric === metric) row.classList.add("chosen");
    }
    if (!panel.open) panel.showModal();
    panel.scrollTop = 0;
    title.focus();
  }

  document.addEventListener("click", (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return;
    if (event.target === panel) return panel.close(); // beside the panel: its backdrop
    const cell = event.target.closest("table[data-sortable] td");
    const link = event.target.closest("a") ?? cell?.querySelector("a");
    const article = link?.hash.startsWith("#case-") ? document.getElementById(link.hash.slice(1)) : null;
    if (!article) return;
    event.preventDefault();
    show(article, link.dataset.metric);
  });
  panel.querySelector("button").addEventListener("click", () => panel.close());
})();
