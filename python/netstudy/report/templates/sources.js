/* Sources of the numbers in tables: unpacked when a table is first pointed at or stepped into. */
(() => {
  "use strict";
  if (!unpack) return;
  const tables = [...document.querySelectorAll(".scroll")];
  const numbers = [...document.querySelectorAll("tbody data:not([title])")]; /* before anything is sorted */
  const tell = async () => {
    tables.forEach((table) => ["pointerover", "focusin"].forEach((kind) => table.removeEventListener(kind, tell)));
    const sources = JSON.parse(await unpack("sources"));
    numbers.forEach((number, n) => number.setAttribute("title", sources[n]));
  };
  tables.forEach((table) => ["pointerover", "focusin"].forEach((kind) => table.addEventListener(kind, tell)));
})();
