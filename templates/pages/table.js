"use strict";
(() => {
  // Without this script a page is whole; with it a click on a heading sorts its table, and words typed into a filter
  // leave the rows that hold all of them.
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
