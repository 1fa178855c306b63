// Draws the page: the table as it is now, or a position of the past.

import { askChances, drawAdvicePanel } from "./advice.js";
import { el, find, refill } from "./dom.js";
import { page, play, send } from "./page.js";
import { drawScore, drawStory } from "./panels.js";
import { drawTable } from "./table.js";
import { sentence, toDo } from "./words.js";

/** The newest state of the table. */
export function drawNow() {
  const { state } = page,
    { table } = state;
  const names = table.seats.map((seat) => seat.name),
    own = state.seat;
  const bottom = own ?? 0,
    event = state.events.at(-1) ?? null;
  page.shown = { table, names, own };
  drawTable({
    table,
    names,
    own,
    bottom,
    event,
    agents: state.agents,
    present: state.present,
    thinks: state.thinks && !state.paused,
    hand: own === null ? null : table.seats[own].cards,
    playable: own !== null && table.turn === own && !state.failure,
  });
  find("#hand").setAttribute("aria-label", "Your cards");
  find("#facts").textContent = [`Rules: ${table.rules}`, ...table.facts].join(", ").replaceAll("_", " ").replaceAll("=", " ");
  const trumps = table.led && table.trump;
  drawStatus(toDo({ ...state, silent: !trumps }, table, names, own), table.turn === own && own !== null);
  drawActions();
  drawScore(state.tally, table, names, own);
  drawStory(state.events, names, own);
  drawAdvicePanel();
  askChances();
}

function drawStatus(text, calls) {
  const status = find("#status");
  status.classList.toggle("calls", calls);
  if (status.textContent !== text) status.textContent = text;
}

/** A position of the past. */
export function drawPast({ table, events, names, at, seat, jump }) {
  const event = events.at(-1) ?? null;
  page.shown = { table, names, own: null };
  drawTable({
    table,
    names,
    own: null,
    bottom: seat ?? 0,
    event,
    agents: null,
    present: null,
    thinks: false,
    hand: seat === null ? null : table.seats[seat].cards,
    playable: false,
  });
  find("#hand").setAttribute("aria-label", seat === null ? "" : `Cards of ${names[seat]}`);
  drawStatus(event ? sentence(event, names, null) : "The cards are dealt.", false);
  find("#actions").replaceChildren();
  drawScore(page.state?.tally, table, names, null);
  const first = Math.max(0, events.length - 60);
  drawStory(events.slice(first), names, null, jump, first);
  askChances();
}

function drawActions() {
  const { table, seat, version } = page.state;
  const mine = seat !== null && table.turn === seat && !page.state.failure;
  const buttons = [];
  if (mine && table.legal.includes("pickup"))
    buttons.push(
      el(
        "button",
        { id: "pickup", class: "main", type: "button", onclick: () => play("pickup") },
        `Pick up ${table.trick.length === 1 ? "the card" : `${table.trick.length} cards`}`,
      ),
    );
  if (table.result || page.state.failure) {
    if (page.hello.control)
      buttons.push(
        el(
          "button",
          { id: "next", class: "main", type: "button", onclick: () => send("deal", { same: false }) },
          "New cards",
        ),
        el(
          "button",
          { id: "same", type: "button", onclick: () => send("deal", { same: true }) },
          "Same cards, one seat on",
        ),
      );
    if (table.result) buttons.push(el("button", { id: "look", type: "button" }, "Look back"));
  }
  refill(find("#actions"), buttons);
  find("#actions").dataset.version = version;
}

/** Reads aloud what has happened since the last state. */
export function speak(before, state) {
  const names = state.table.seats.map((seat) => seat.name);
  const fresh = before && state.version > before.version ? state.events.slice(-(state.version - before.version)) : [];
  find("#spoken").textContent = fresh.map((event) => sentence(event, names, state.seat)).join(" ");
  document.title =
    state.seat !== null && state.table.turn === state.seat ? "Your turn – Rolling Stone" : "Rolling Stone";
}
