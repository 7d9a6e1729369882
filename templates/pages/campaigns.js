"use strict";
(() => {
  // Two campaigns side by side: the page holds the last two, and with this script any two.
  const table = document.getElementById("rows");
  const sides = ["old", "new"].map((id) => document.getElementById(id));
  const headings = ["old", "new"].map((side) => table.querySelector(`th[data-side="${side}"]`));

  const changeOf = (old, now) => {
    if (!old || !now) return ["", ""];
    if (old[2] !== now[2]) return [table.dataset.apart, ""];
    if (!(old[0] > 0 && now[0] > 0)) return ["", ""];
    const share = 100 * (now[0] / old[0] - 1);
    const text = share.toFixed(1).replace("-", "−");
    return [`${share < 0 ? "" : "+"}${text} %`, String(now[0] / old[0])];
  };

  const show = () => {
    const chosen = sides.map((side) => side.value);
    headings.forEach((heading, nth) => {
      (heading.querySelector("button") ?? heading).textContent = sides[nth].selectedOptions[0].textContent;
    });
    for (const row of table.tBodies[0].rows) {
      const values = JSON.parse(row.dataset.values);
      const [old, now] = chosen.map((number) => values[number]);
      [row.cells[1].textContent, row.cells[1].dataset.sort] = changeOf(old, now);
      row.cells[2].textContent = old ? old[1] : table.dataset.none;
      row.cells[3].firstChild.textContent = `${now ? now[1] : table.dataset.none} `;
      [old, now].forEach((value, nth) => { row.cells[2 + nth].dataset.sort = value ? value[0] : ""; });
    }
  };

  for (const side of sides) side.addEventListener("change", show);
  show(); // what a browser kept in the boxes when it came back to the page
})();
