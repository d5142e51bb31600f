// What pages cannot do by themselves: show events as they happen, keep buttons still until what they
// stand beside can have been read, and send a form once that is clicked twice. Everything else works without this file. Texts are only ever
// set as text.
"use strict";

const KEPT = 200;
const COLUMNS = ["Time (UTC)", "What", "Ended", "Agent", "Tool", "Call"];
const LINK = COLUMNS.length - 1;

// How it ended, or what was decided, where the event says so.
function ended(event) {
  const said = event.payload ?? {};
  switch (event.type) {
    case "tool_call_result": return said.ok ? "ok" : said.error;
    case "effect_changed": return said.by ? said.state + " by " + said.by : said.state;
    case "confirmation_decided": return said.decidedBy ? said.status + " by " + said.decidedBy : said.status;
    case "session_changed": return said.change;
    case "tool_side_effect_failed": return said.error ?? said.status;
    default: return "";
  }
}

function row(event) {
  const cells = [
    new Date(event.atMs).toISOString().replace("T", " ").slice(0, 19),
    event.type.replaceAll("_", " "),
    String(ended(event) ?? "").replaceAll("_", " "),
    event.agent,
    event.tool,
    event.call,
  ];
  const line = document.createElement("tr");
  line.className = "fresh";
  cells.forEach((text, at) => {
    const cell = document.createElement("td");
    cell.dataset.label = COLUMNS[at];
    if (at === LINK && text && event.type === "tool_call_result") {
      const link = document.createElement("a");
      link.href = "/console/calls/" + encodeURIComponent(text);
      link.textContent = "Details";
      cell.append(link);
    } else {
      cell.textContent = at === LINK ? "" : plain(text);
    }
    line.append(cell);
  });
  return line;
}

// Characters that cannot be seen are written as their codes, as on every page.
function plain(text) {
  return String(text ?? "").replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, (letter) =>
    "U+" + letter.codePointAt(0).toString(16).toUpperCase().padStart(4, "0"));
}

function watch(section) {
  const state = section.querySelector("[role=status]");
  const body = section.querySelector("tbody");
  section.hidden = false;
  const source = new EventSource(section.dataset.stream);
  source.onopen = () => { state.textContent = "Connected. New events appear on top."; };
  // A browser tries again after a break, and gives up for good where it is answered something else:
  // whoever is signed out is shown the page that asks for a key.
  source.onerror = () => {
    state.textContent = source.readyState === EventSource.CLOSED
      ? "Not connected any more: you are signed out, or too many pages listen. Load the page again."
      : "Not connected; trying again.";
  };
  const show = (message) => {
    body.prepend(row(JSON.parse(message.data)));
    while (body.rows.length > KEPT) body.lastElementChild.remove();
  };
  const kinds = [
    "tool_call_start", "tool_call_result", "tool_side_effect_started", "tool_side_effect_completed",
    "tool_side_effect_failed", "confirmation_requested", "confirmation_decided", "effect_changed",
    "session_changed", "audit_note", "message",
  ];
  kinds.forEach((kind) => source.addEventListener(kind, show));
  source.addEventListener("lost", (message) => {
    const lost = JSON.parse(message.data).events;
    state.textContent = (lost === null ? "Some" : lost) + " events were missed. Load the page again to see the calls.";
  });
  window.addEventListener("pagehide", () => source.close());
}

function hold(form) {
  const buttons = form.querySelectorAll("button");
  buttons.forEach((button) => { button.disabled = true; });
  setTimeout(() => buttons.forEach((button) => { button.disabled = false; }), Number(form.dataset.wait) + 100);
}

// The second half of a double click is not meant.
function once(event) {
  if (event.timeStamp - sent < 1000) event.preventDefault();
  else sent = event.timeStamp;
}

let sent = -Infinity;
document.addEventListener("submit", once);
const live = document.getElementById("live");
if (live) watch(live);
document.querySelectorAll("form[data-wait]").forEach(hold);
// A page from the history would show what is no longer so.
window.addEventListener("pageshow", (event) => { if (event.persisted) location.reload(); });
