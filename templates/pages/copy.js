"use strict";
(() => {
  // What stands of a table (rows that a filter leaves, columns that are shown and are no pictures) as Markdown or CSV in
  // the clipboard. Texts of logs are escaped as perflog/escaping.py does it: no markup in Markdown, no formula in a
  // spreadsheet. Where a table is exact, its cells are sorted by the numbers that they show, which CSV gets in full.
  const markdown = (text) => text.replace(/&/g, "&amp;").replace(/[\\|<>`*_[\]~$]/g,
    (mark) => ({ "<": "&lt;", ">": "&gt;" })[mark] ?? `\\${mark}`);
  const number = /^([+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?|[+-](inf|nan)|-)$/;
  const csv = (text) => {
    const safe = /^\s*[=+\-@\uff1d\uff0b\uff0d\uff20]/.test(text) && !number.test(text) ? `'${text}` : text;
    return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
  };
  const plain = (element, without) => {
    const copy = element.cloneNode(true);
    for (const part of copy.querySelectorAll(without)) part.remove();
    return copy.textContent.replace(/\s+/g, " ").trim();
  };

  // (title, whether numbers, the text of a row's cell) of each column that is shown
  function columnsOf(table, form, remark) {
    const groups = Array.from(table.querySelectorAll("th.group"));
    const heads = Array.from(table.querySelectorAll("thead th:not(.group)"), (head) => {
      head.dataset.column ??= head.cellIndex;
      return head;
    });
    const inGroup = groups.length ? heads.filter((head) => !head.rowSpan || head.rowSpan === 1) : [];
    const rows = Array.from(table.tBodies[0].rows);
    const isText = (head) => head.textContent && !rows.some((row) => row.cells[head.dataset.column].querySelector("svg"));
    return heads.filter((head) => !head.hidden && isText(head)).flatMap((head) => {
      const at = Number(head.dataset.column);
      const group = groups[Math.floor(inGroup.indexOf(head) / (inGroup.length / groups.length))];
      const title = [group?.textContent, head.textContent].filter(Boolean).join(" ");
      const numeric = "numeric" in head.dataset || head.classList.contains("number");
      const shown = (row) => plain(row.cells[at], "sup, details ul");
      if (form === "markdown" || !("exact" in table.dataset)) return [[title, numeric, shown]];
      const exact = (row) => (numeric ? row.cells[at].dataset.sort : plain(row.cells[at], "sup"));
      const beside = ["small", ".beside"].filter((css) => rows.some((row) => row.cells[at].querySelector(css)));
      return [[title, numeric, exact], ...beside.map((css) => [
        css === "small" ? `${title} ±` : `${title} ${remark}`, false,
        (row) => (row.cells[at].querySelector(css)?.textContent ?? "").replace("±", "").trim(),
      ])];
    });
  }

  function textOf(table, form, remark) {
    const columns = columnsOf(table, form, remark);
    const rows = Array.from(table.tBodies[0].rows).filter((row) => !row.hidden);
    const lines = [columns.map(([title]) => title), ...rows.map((row) => columns.map(([, , text]) => text(row)))];
    if (form === "csv") return lines.map((cells) => cells.map(csv).join(",")).join("\n") + "\n";
    const piped = lines.map((cells) => `| ${cells.map(markdown).join(" | ")} |`);
    piped.splice(1, 0, `|${columns.map(([, numeric]) => (numeric ? "---:" : "---")).join("|")}|`);
    return piped.join("\n") + "\n";
  }

  async function put(text) {
    try { return await navigator.clipboard.writeText(text).then(() => true); } catch { /* an older way */ }
    const box = document.createElement("textarea");
    box.value = text;
    document.body.append(box);
    box.select();
    const done = document.execCommand("copy");
    box.remove();
    return done;
  }

  for (const bar of document.querySelectorAll(".copy")) {
    bar.hidden = false;
    const said = bar.querySelector("output");
    bar.addEventListener("click", async (event) => {
      const button = event.target.closest("button");
      if (!button) return;
      let at = bar.previousElementSibling;
      while (!at.querySelector("table")) at = at.previousElementSibling;
      const table = at.querySelector("table");
      const done = await put(textOf(table, button.dataset.form, bar.dataset.remark));
      said.textContent = done ? bar.dataset.copied : bar.dataset.failed;
      button.focus();
    });
  }
})();
