"use strict";
// An editor shows the page too: it is told which place of the source is meant.
const editor = typeof acquireVsCodeApi === "function" ? acquireVsCodeApi() : null;
const tell = (what, place) => {
  if (editor && place) editor.postMessage({what, file: place.dataset.file, line: Number(place.dataset.line), column: Number(place.dataset.column)});
};
const sections = document.querySelectorAll("section[data-steps]");
for (const section of sections) {
  const last = Number(section.dataset.steps);
  const output = section.querySelector("output");
  let here = 0;
  const show = step => {
    here = Math.max(0, Math.min(last, step));
    for (const each of section.querySelectorAll("[data-step]")) {
      each.classList.toggle("here", Number(each.dataset.step) === here);
    }
    for (const each of section.querySelectorAll("[data-from]")) {
      each.classList.toggle("here", Number(each.dataset.from) <= here && here <= Number(each.dataset.to));
    }
    output.textContent = here === 0 ? "before the first of " + last + " steps" : "step " + here + " of " + last;
    const row = section.querySelector("li.here");
    const fold = row && row.closest("details");
    if (fold) fold.open = true;
    if (row) row.scrollIntoView({block: "nearest"});
    tell("step", row && row.querySelector("[data-line]"));
  };
  const keys = {ArrowRight: () => here + 1, ArrowLeft: () => here - 1, Home: () => 0, End: () => last};
  (sections.length === 1 ? document : section).addEventListener("keydown", event => {
    if (event.key in keys && !event.ctrlKey && !event.metaKey && !event.altKey) {
      show(keys[event.key]());
      event.preventDefault();
    }
  });
  for (const each of section.querySelectorAll("[data-step]")) {
    each.addEventListener("click", () => { section.focus({preventScroll: true}); show(Number(each.dataset.step)); });
  }
  for (const each of section.querySelectorAll("g[data-from]")) {
    each.addEventListener("click", () => { section.focus({preventScroll: true}); show(Number(each.dataset.from)); });
  }
  for (const each of section.querySelectorAll("[data-go]")) {
    each.addEventListener("click", () => show(here + Number(each.dataset.go)));
  }
  output.textContent = last + " steps";
}
if (editor) {
  for (const each of document.querySelectorAll(".sights")) each.open = true;
  for (const each of document.querySelectorAll("[data-line]")) {
    each.title = each.textContent;
    each.textContent = each.textContent.split(/[\\/]/).pop();
    each.tabIndex = 0;
    each.setAttribute("role", "link");
    each.addEventListener("click", () => tell("open", each));
    each.addEventListener("keydown", event => { if (event.key === "Enter") tell("open", each); });
  }
  if (sections.length) sections[0].focus();
}
