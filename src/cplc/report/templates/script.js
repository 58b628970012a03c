"use strict";
for (const section of document.querySelectorAll("section[data-steps]")) {
  const last = Number(section.dataset.steps);
  let here = 0;
  const show = step => {
    here = Math.max(1, Math.min(last, step));
    for (const each of section.querySelectorAll("[data-step]")) {
      each.classList.toggle("here", Number(each.dataset.step) === here);
    }
    for (const each of section.querySelectorAll("th[data-state]")) {
      each.style.background = Number(each.dataset.state) === here ? "var(--here)" : "";
    }
    section.querySelector("li.here").scrollIntoView({block: "nearest"});
  };
  section.addEventListener("keydown", event => {
    if (event.key === "ArrowRight" || event.key === "ArrowLeft") {
      show(here + (event.key === "ArrowRight" ? 1 : -1));
      event.preventDefault();
    }
  });
  for (const each of section.querySelectorAll("[data-step]")) {
    each.addEventListener("click", () => { section.focus({preventScroll: true}); show(Number(each.dataset.step)); });
  }
}
