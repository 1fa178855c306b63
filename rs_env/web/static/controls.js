// The buttons at the top, and the dialogs that they open.

import { el, find, refill } from "./dom.js";
import { page, send } from "./page.js";
import { openSetup } from "./setup.js";

let controlsDrawn = "";
export function drawControls() {
  const { hello, state, lookback } = page,
    isTable = hello.mode === "table";
  const facts = JSON.stringify([
    hello.control,
    isTable,
    Boolean(lookback),
    state?.paused,
    page.slow,
    state?.pace,
    state?.can_undo,
    state?.auto,
    state?.seat === null,
    Boolean(state?.table.result),
  ]);
  if (facts === controlsDrawn) return;
  controlsDrawn = facts;
  const button = (id, text, told, onclick, more = {}) =>
    el("button", { id, type: "button", title: told, ...(onclick && { onclick }), ...more }, text);
  const shown = [];
  if (isTable && lookback)
    shown.push(button("back-to-table", "Back to the table", "End looking back (Escape)", null, { class: "main" }));
  else if (isTable && state) {
    if (hello.control) {
      shown.push(
        button(
          "pause",
          state.paused ? "Go on" : page.slow ? "Stop thinking" : "Pause",
          page.slow ? "The agent gives its thought up, and is asked again when you go on (space)" : "Let agents wait (space)",
          () => send("pause", { on: !state.paused }),
          { "aria-pressed": String(state.paused) },
        ),
        el(
          "label",
          {},
          el("span", { class: "wide" }, "Pace "),
          el(
            "select",
            {
              id: "pace",
              "aria-label": "Pace",
              onchange: (event) => send("pace", { seconds: Number(event.target.value) }),
            },
            [...new Set([...hello.paces, state.pace])].map((pace) =>
              el("option", { value: pace, selected: pace === state.pace }, pace ? `${pace} s` : "at once"),
            ),
          ),
        ),
        button("undo", "Undo", "Back to your last decision (u)", () => send("undo"), { disabled: !state.can_undo }),
        button("setup-button", "Table…", "Rules, players and links (t)", setup),
      );
    }
    if (state.seat !== null)
      shown.push(
        el(
          "label",
          { title: "Play turns without a choice for me" },
          el("input", {
            id: "auto",
            type: "checkbox",
            checked: state.auto,
            onchange: (event) => send("auto", { on: event.target.checked }),
          }),
          " auto",
        ),
      );
  }
  shown.push(button("help-button", "?", "Help: rules, keys and your name (?)", help, { "aria-label": "Help" }));
  refill(find("#controls"), shown);
}

function setup() {
  if (page.hello?.control && page.state) openSetup(page.hello, page.state, (chosen) => send("setup", chosen));
}

export function help() {
  const keys = page.lookback
    ? [
        ["← →", "one action back or on"],
        ["↑ ↓", "pickup before, next pickup"],
        ["w", "next win"],
        ["d", "next difference"],
        ["space", "play on by itself"],
        ["Home End", "beginning, end"],
        ...(page.hello.mode === "table" ? [["Esc", "back to the table"]] : []),
      ]
    : [
        ["← →", "go through the cards that may be played"],
        ["Enter", "play the card"],
        ["1 … 9", "play that one of them"],
        ["p", "pick up"],
        ["u", "undo"],
        ["h", "ask the agent"],
        ["k", "where the cards can be"],
        ["n", "new cards, after the end"],
        ["s", "same cards, one seat on, after the end"],
        ["l", "look back, after the end"],
        ["space", "pause"],
        ["t", "rules, players and links"],
      ];
  refill(
    find("#help"),
    el(
      "form",
      { method: "dialog" },
      el("h2", { id: "help-title", tabindex: -1, autofocus: true }, "Rolling Stone"),
      el(
        "ul",
        {},
        ((page.lookback ? page.lookback.outline?.told : null) ?? page.state?.told ?? []).map((told) => el("li", {}, told)),
      ),
      el("h3", {}, "Keys"),
      el(
        "dl",
        {},
        keys.map(([key, told]) => [el("dt", {}, el("kbd", {}, key)), el("dd", {}, told)]),
      ),
      page.lookback
        ? el(
            "p",
            {},
            "Timeline: grey where there was a choice, orange pickups, green where somebody was out, violet where the agents differ.",
          )
        : null,
      el(
        "p",
        {},
        "Click a card, or drag it upwards. D marks the dealer, L who leads; a suit struck through: no unseen card of it.",
      ),
      page.state?.seat === null || !page.state
        ? null
        : el(
            "p",
            {},
            el(
              "label",
              {},
              "Your name ",
              el("input", {
                id: "name",
                maxlength: 20,
                value: page.state.table.seats[page.state.seat].name,
                onchange: (event) => send("name", { name: event.target.value }),
              }),
            ),
          ),
      el("p", { class: "buttons" }, el("button", { class: "main" }, "Close")),
    ),
  );
  find("#help").showModal();
}
