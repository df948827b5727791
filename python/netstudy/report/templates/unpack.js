/* What the page carries in little room: base64 of gzip in a script element. Undefined where the browser
   cannot unpack it: figures stay as they were drawn, and numbers in tables are without their source. */
const unpack = "DecompressionStream" in window && (async (id) => {
  "use strict";
  const packed = document.getElementById(id).textContent.trim();
  const bytes = Uint8Array.from(atob(packed), (c) => c.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).text();
});
