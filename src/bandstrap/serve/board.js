// Asks for the page again every few seconds and puts its new content in place of the old, while somebody looks at it.
"use strict";
const EVERY = 5000;

// Says above a page that it is not what the service would show now; a page that is new says no such thing.
function warn(why) {
  const there = document.getElementById("stale");
  const notice = there ?? document.createElement("p");
  if (!there) {
    notice.id = "stale";
    notice.setAttribute("role", "alert");
    document.body.prepend(notice);
  }
  const text = `Not up to date: ${why}. Reload the page to try again.`;
  if (notice.textContent !== text) notice.textContent = text;
}

async function renew() {
  if (document.hidden || document.querySelector("input")) return;
  try {
    const answer = await fetch(location.href, { credentials: "same-origin" });
    if (!answer.ok) {
      warn(answer.status === 401 ? "the token is not valid any more" : `the service answers with status ${answer.status}`);
      return;
    }
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
    warn("the service does not answer");
  }
}

setInterval(renew, EVERY);
document.addEventListener("visibilitychange", renew);
