document.addEventListener("toggle", async (event) => {
  const body = event.target.open && event.target.querySelector(":scope > [data-packed]");
  if (!body) return;
  const bytes = Uint8Array.from(atob(body.dataset.packed), (letter) => letter.charCodeAt(0));
  body.removeAttribute("data-packed");
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  body.innerHTML = await new Response(stream).text();
}, true);
