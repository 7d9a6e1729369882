"use strict";
(() => {
  // Without this script a page is whole; with it a click on a heading sorts its table, which the address then says, and
  // words typed into a filter leave the rows that hold all of them.
  document.documentElement.classList.add("script");
  const order = new Intl.Collator(document.documentElement.lang, { numeric: true });

  function sort(table, heading, down) {
    const column = Number(heading.dataset.column);
    const numeric = "numeric" in heading.dataset;
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

  // in the address: PART.COLUMN, or PART.-COLUMN for the greatest first; a page's only table has no part
  const tables = Array.from(document.querySelectorAll("table[data-sortable]"));
  const partOf = (table) => table.closest("[data-part]")?.dataset.part ?? (tables.length > 1 ? table.id : "");
  const wordOf = (table) => {
    const heading = table.querySelector('th[aria-sort$="scending"]');
    if (!heading) return "";
    const down = heading.getAttribute("aria-sort") === "descending" ? "-" : "";
    return `${partOf(table)}.${down}${heading.dataset.column}`;
  };
  const given = (new URLSearchParams(location.search).get("sort") ?? "").split(",").filter(Boolean);

  for (const table of tables) {
    for (const heading of table.querySelectorAll("th[data-column]")) {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...heading.childNodes);
      button.addEventListener("click", () => {
        sort(table, heading, heading.getAttribute("aria-sort") === "ascending");
        inAddress("sort", tables.map(wordOf).filter(Boolean).join(","));
      });
      heading.setAttribute("aria-sort", "none");
      heading.append(button);
      const word = `${partOf(table)}.`;
      const column = heading.dataset.column;
      if (given.includes(word + column)) sort(table, heading, false);
      if (given.includes(`${word}-${column}`)) sort(table, heading, true);
    }
  }

  const textOf = (row) => Array.from(row.cells, (cell) => cell.textContent).join(" ").toLowerCase();

  for (const box of document.querySelectorAll("input[data-filter]")) {
    const table = document.getElementById(box.dataset.filter);
    const rows = Array.from(table.tBodies[0].rows, (row) => [textOf(row), row]);
    const count = document.querySelector(`output[for="${box.id}"]`);
    const filter = () => {
      const words = wordsOf(box.value);
      let shown = 0;
      for (const [text, row] of rows) {
        row.hidden = !words.every((word) => word.test(text));
        shown += !row.hidden;
      }
      count.textContent = words.length ? `${shown} / ${rows.length}` : "";
    };
    box.addEventListener("input", filter);
    filter(); // what a browser kept in the box when it came back to the page
  }
})();
