(() => {
  "use strict";
  const value = (row, column) => {
    const cell = row.cells[column];
    const data = cell.querySelector("data");
    return data ? Number(data.value) : cell.textContent.trim();
  };
  const compare = (a, b) => {
    if (a === "" || b === "") return (a === "") - (b === "");
    if (typeof a === "number" && typeof b === "number") return a - b;
    return String(a).localeCompare(String(b), "en");
  };
  const sort = (table, button) => {
    const header = button.parentElement;
    const down = header.getAttribute("aria-sort") === "ascending";
    const column = Number(button.dataset.column);
    const body = table.tBodies[0];
    const rows = [...body.rows].map((row) => [value(row, column), row]);
    rows.sort(([a], [b]) => (a === "" || b === "" || !down ? compare(a, b) : compare(b, a)));
    body.append(...rows.map(([, row]) => row));
    table.querySelectorAll("[aria-sort]").forEach((th) => th.removeAttribute("aria-sort"));
    header.setAttribute("aria-sort", down ? "descending" : "ascending");
  };
  document.querySelectorAll("table.sortable").forEach((table) => {
    table.querySelectorAll("thead button").forEach((button) => {
      button.addEventListener("click", () => sort(table, button));
    });
  });
  addEventListener("beforeprint", () => {
    document.querySelectorAll("details").forEach((details) => { details.open = true; });
  });
})();
