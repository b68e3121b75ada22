// Asks for the page again every few seconds and puts its new content in place of the old, while somebody looks at it.
"use strict";
const EVERY = 5000;

async function renew() {
  if (document.hidden || document.querySelector("form")) return;
  try {
    const answer = await fetch(location.href, { credentials: "same-origin" });
    if (!answer.ok) return;
    const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
    const open = [...document.querySelectorAll("details")].map((element) => element.open);
    const focus = document.activeElement && document.activeElement.id;
    document.body.replaceChildren(...fresh.body.childNodes);
    document.querySelectorAll("details").forEach((element, i) => { element.open = open[i] ?? element.open; });
    if (focus) document.getElementById(focus)?.focus();
  } catch {
    // The service does not answer: the page stays as it was, and is asked for again.
  }
}

setInterval(renew, EVERY);
document.addEventListener("visibilitychange", renew);
