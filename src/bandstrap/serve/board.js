// Asks for the page again every few seconds and puts its new content in place of the old, while somebody looks at it.
"use strict";
const EVERY = 5000;

async function renew() {
  if (document.hidden || document.querySelector("input")) return;
  try {
    const answer = await fetch(location.href, { credentials: "same-origin" });
    if (!answer.ok) return;
    const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
    const open = [...document.querySelectorAll("details")].map((element) => element.open);
    const scrolled = [...document.querySelectorAll(".wide")].map((element) => element.scrollLeft);
    const places = [...document.querySelectorAll("a, button, summary, [tabindex]")];
    const focus = places.indexOf(document.activeElement);
    document.body.replaceChildren(...fresh.body.childNodes);
    document.querySelectorAll("details").forEach((element, i) => { element.open = open[i] ?? element.open; });
    document.querySelectorAll(".wide").forEach((element, i) => { element.scrollLeft = scrolled[i] ?? 0; });
    if (focus >= 0) document.querySelectorAll("a, button, summary, [tabindex]")[focus]?.focus({ preventScroll: true });
  } catch {
    // The service does not answer: the page stays as it was, and is asked for again.
  }
}

setInterval(renew, EVERY);
document.addEventListener("visibilitychange", renew);
