// The page: takes what the server tells, has it drawn, and sends what the reader does.

import { ask, askAgain, askChances, drawAdvicePanel, hintStopped, takeChances, takeHint } from "./advice.js";
import { bySuit } from "./cards.js";
import { Connection } from "./connection.js";
import { drawControls, help } from "./controls.js";
import { find } from "./dom.js";
import { drawNow, drawPast, speak } from "./draw.js";
import { listenToHand, listenToKeys } from "./input.js";
import { Lookback } from "./lookback.js";
import { notify, page, play, send } from "./page.js";
import { whyNot } from "./words.js";

// What the server tells

function receive(message) {
  if (message.type === "hello") begin(message);
  else if (message.type === "state") takeState(message);
  else if (message.type === "error") takeError(message.message);
  else if (message.type === "hint") takeHint(message);
  else if (message.type === "stopped" && message.question === "hint") hintStopped();
  else if (message.type === "know" || message.type === "chances") takeChances(message);
  else page.lookback?.take(message);
}

function begin(hello) {
  page.hello = hello;
  page.advice.waiting = page.knowing = false; // questions do not outlive a connection
  page.advice.name ??= hello.advisers[0] ?? null;
  document.body.dataset.mode = hello.mode;
  if (hello.mode === "watch") {
    find("#facts").textContent = hello.file;
    page.lookback?.close();
    page.lookback = new Lookback(send, drawPast, hello.advisers, hello.games);
  }
  drawControls();
}

function takeState(state) {
  const before = page.state;
  page.state = state;
  if (page.lookback && before && state.version !== before.version) leaveLookback();
  if (before?.version !== state.version) page.advice.opinion = null;
  watchThinking(before, state);
  drawControls();
  if (page.lookback) return;
  drawNow();
  speak(before, state);
  askAgain();
}

const LONG = 3000; // milliseconds after which a thought is called long
let thinkingTimer = 0;
/** Offers to stop an agent that thinks long. */
function watchThinking(before, state) {
  const thinks = state.thinks && !state.paused;
  if (thinks && before?.version === state.version && before.thinks && !before.paused) return;
  clearTimeout(thinkingTimer);
  page.slow = false;
  const tell = () => {
    page.slow = true;
    drawControls();
  };
  if (thinks) thinkingTimer = setTimeout(tell, LONG + 1000 * state.pace);
}

function takeError(text) {
  page.advice.waiting = page.knowing = false;
  notify(text);
  if (page.lookback) page.lookback.giveUp();
  else if (page.state) drawAdvicePanel();
}

// What the reader does

function enterLookback() {
  page.lookback = new Lookback(send, drawPast, page.hello.advisers, 1);
  document.body.dataset.mode = "watch";
  drawControls();
}

function leaveLookback() {
  if (!page.lookback || page.hello.mode !== "table") return false;
  page.lookback.close();
  page.lookback = null;
  history.replaceState(null, "", location.pathname + location.search);
  document.body.dataset.mode = "table";
  page.adviceDrawn = "";
  drawControls();
  drawNow();
  return true;
}

function playNumber(number) {
  const legal = bySuit(page.state?.table.legal.filter((action) => action !== "pickup") ?? []).flatMap(
    ([, cards]) => cards,
  );
  if (page.lookback || !find("#hand").classList.contains("mine") || !legal[number - 1]) return false;
  play(legal[number - 1]);
  return true;
}

const press = (id) => {
  const button = find(`#${id}`);
  if (!button || button.disabled) return false;
  button.click();
  return true;
};
const toggle = (id) => {
  find(id).open = !find(id).open;
};
const tableKeys = {
  p: () => press("pickup"),
  u: () => press("undo"),
  n: () => press("next"),
  s: () => press("same"),
  l: () => press("look"),
  t: () => press("setup-button"),
  " ": () => press("pause"),
  h: () => {
    find("#advice").open = true;
    ask();
  },
  k: () => toggle("#known"),
  ArrowRight: focusHand,
  ArrowLeft: focusHand,
  number: playNumber,
};

function focusHand() {
  if (find("#hand").contains(document.activeElement)) return false;
  find("#hand .card[tabindex='0']")?.focus();
  return true;
}

listenToHand(
  play,
  (card) => page.shown && page.state && !page.lookback && notify(whyNot(page.shown.table, card, page.shown.own)),
);
listenToKeys(
  new Proxy(
    {},
    {
      get: (_, key) => {
        if (key === "?") return () => help();
        if (key === "Escape") return leaveLookback;
        const keys = page.lookback ? page.lookback.keys : tableKeys;
        return Object.hasOwn(keys, key) ? keys[key] : undefined;
      },
    },
  ),
);
find("#known").addEventListener("toggle", askChances);
find("#advice").addEventListener("toggle", askAgain);
find("#actions").addEventListener("click", (event) => event.target.closest("#look") && enterLookback());
find("#controls").addEventListener("click", (event) => event.target.closest("#back-to-table") && leaveLookback());

page.connection = new Connection(receive, (on) => {
  document.body.classList.toggle("offline", !on);
  if (!on) notify("No connection to the server; trying again. Nothing is lost.", true);
  else notify("");
});
