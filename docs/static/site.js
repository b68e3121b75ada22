// Says of each table that is wider than its page that it scrolls, and lets the keyboard reach it.
"use strict";
addEventListener("load", () => {
  const mark = () => {
    for (const box of document.querySelectorAll(".table-wrapper")) {
      const isWide = box.scrollWidth > box.clientWidth + 1;
      const hint = box.previousElementSibling;
      if (hint?.classList.contains("scroll-hint")) hint.hidden = !isWide;
      else if (isWide) {
        const made = document.createElement("p");
        made.className = "scroll-hint";
        made.textContent = "This table scrolls sideways \u2192";
        box.before(made);
        box.tabIndex = 0;
      }
    }
  };
  mark();
  addEventListener("resize", mark);
});
