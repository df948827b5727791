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
  if ("ResizeObserver" in window) {
    const sized = new ResizeObserver((entries) => entries.forEach(({ target }) => {
      const wide = target.scrollWidth > target.clientWidth + 1;
      target.previousElementSibling.classList.toggle("is-wide", wide);
    }));
    document.querySelectorAll(".scroll").forEach((box) => sized.observe(box));
  }
  const links = new Map([...document.querySelectorAll("nav a")].map((a) => [a.hash.slice(1), a]));
  if ("IntersectionObserver" in window) {
    const reading = new IntersectionObserver((entries) => {
      const seen = entries.filter((entry) => entry.isIntersecting);
      if (!seen.length) return;
      links.forEach((link) => link.removeAttribute("aria-current"));
      links.get(seen[0].target.id)?.setAttribute("aria-current", "true");
    }, { rootMargin: "-15% 0px -75% 0px" });
    document.querySelectorAll("main > section").forEach((section) => reading.observe(section));
  }
  addEventListener("beforeprint", () => {
    document.querySelectorAll("details").forEach((details) => { details.open = true; });
  });
})();
