// The page: takes what the server tells, draws it, and sends what the reader does.

import { bySuit } from "./cards.js";
import { Connection } from "./connection.js";
import { el, find, refill } from "./dom.js";
import { listenToHand, listenToKeys } from "./input.js";
import { Lookback } from "./lookback.js";
import { drawAdvice, drawChances, drawScore, drawStory, tellKnown } from "./panels.js";
import { openSetup } from "./setup.js";
import { drawTable } from "./table.js";
import { sentence, toDo, whyNot } from "./words.js";

const page = {
  hello: null, // what the server told first
  state: null, // the newest state of the table
  shown: null, // what is drawn: {table, events, names, own, ...}
  lookback: null,
  advice: { name: null, always: false, opinion: null, waiting: false },
  knowing: false, // whether the chances of cards were asked for
};

const connection = new Connection(receive, (on) => {
  document.body.classList.toggle("offline", !on);
  if (!on) notify("No connection to the server; trying again. Nothing is lost.", true);
  else notify("");
});
const send = (type, fields) => connection.send(type, fields);

// What the server tells

function receive(message) {
  if (message.type === "hello") begin(message);
  else if (message.type === "state") takeState(message);
  else if (message.type === "error") takeError(message.message);
  else if (message.type === "hint") takeHint(message);
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
  drawControls();
  if (page.lookback) return;
  drawNow();
  speak(before, state);
  askAgain();
}

function takeError(text) {
  page.advice.waiting = page.knowing = false;
  notify(text);
  if (page.lookback) page.lookback.giveUp();
  else if (page.state) drawAdvicePanel();
}

function takeHint(message) {
  page.advice.waiting = false;
  if (message.version === page.state.version) page.advice.opinion = message;
  if (!page.lookback) drawAdvicePanel();
  askAgain();
}

function takeChances(message) {
  const isNow = message.type === "know" ? message.version === page.state?.version : message.at === page.lookback?.at;
  page.knowing = false;
  if (!isNow) return askChances();
  const { table, names, own } = page.shown;
  const deck = [...new Set([...message.chances.flatMap(Object.keys), ...table.dead, ...table.trick.map(([, card]) => card)])];
  drawChances(message.chances, names, { seat: message.seat, own: message.seat === own }, deck);
}

// What is drawn

function drawNow() {
  const { state } = page, { table } = state;
  const names = table.seats.map((seat) => seat.name), own = state.seat;
  const bottom = own ?? 0, event = state.events.at(-1) ?? null;
  page.shown = { table, names, own };
  drawTable({
    table, names, own, bottom, event, agents: state.agents, present: state.present, thinks: state.thinks && !state.paused,
    hand: own === null ? null : table.seats[own].cards,
    playable: own !== null && table.turn === own && !state.failure,
  });
  find("#hand").setAttribute("aria-label", "Your cards");
  find("#facts").textContent = [`Rules: ${table.rules.replaceAll("_", " ")}`, ...table.facts].join(", ");
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
function drawPast({ table, events, names, at, seat, jump }) {
  const event = events.at(-1) ?? null;
  page.shown = { table, names, own: null };
  drawTable({ table, names, own: null, bottom: seat ?? 0, event, agents: null, present: null, thinks: false, hand: seat === null ? null : table.seats[seat].cards, playable: false });
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
  if (mine && table.legal.includes("pickup")) buttons.push(el("button", { id: "pickup", class: "main", type: "button", onclick: () => play("pickup") }, `Pick up ${table.trick.length === 1 ? "the card" : `${table.trick.length} cards`}`));
  if (table.result || page.state.failure) {
    if (page.hello.control) buttons.push(
      el("button", { id: "next", class: "main", type: "button", onclick: () => send("deal", { same: false }) }, "New cards"),
      el("button", { id: "same", type: "button", onclick: () => send("deal", { same: true }) }, "Same cards, one seat on"));
    if (table.result) buttons.push(el("button", { id: "look", type: "button", onclick: enterLookback }, "Look back"));
  }
  refill(find("#actions"), buttons);
  find("#actions").dataset.version = version;
}

let controlsDrawn = "";
function drawControls() {
  const { hello, state, lookback } = page, isTable = hello.mode === "table";
  const facts = JSON.stringify([hello.control, isTable, Boolean(lookback), state?.paused, state?.pace, state?.can_undo, state?.auto, state?.seat === null, Boolean(state?.table.result)]);
  if (facts === controlsDrawn) return;
  controlsDrawn = facts;
  const button = (id, text, told, onclick, more = {}) => el("button", { id, type: "button", title: told, onclick, ...more }, text);
  const shown = [];
  if (isTable && lookback) shown.push(button("back-to-table", "Back to the table", "End looking back (Escape)", leaveLookback, { class: "main" }));
  else if (isTable && state) {
    if (hello.control) {
      shown.push(
        button("pause", state.paused ? "Go on" : "Pause", "Let agents wait (space)", () => send("pause", { on: !state.paused }), { "aria-pressed": String(state.paused) }),
        el("label", {}, el("span", { class: "wide" }, "Pace "), el("select", { id: "pace", "aria-label": "Pace", onchange: (event) => send("pace", { seconds: Number(event.target.value) }) },
          [...new Set([...hello.paces, state.pace])].map((pace) => el("option", { value: pace, selected: pace === state.pace }, pace ? `${pace} s` : "at once")))),
        button("undo", "Undo", "Back to your last decision (u)", () => send("undo"), { disabled: !state.can_undo }),
        button("setup-button", "Table…", "Rules, players and links (t)", setup));
    }
    if (state.seat !== null) shown.push(el("label", { title: "Play turns without a choice for me" }, el("input", { id: "auto", type: "checkbox", checked: state.auto, onchange: (event) => send("auto", { on: event.target.checked }) }), " auto"));
  }
  shown.push(button("help-button", "?", "Help: rules, keys and your name (?)", help, { "aria-label": "Help" }));
  refill(find("#controls"), shown);
}

/** Reads aloud what has happened since the last state. */
function speak(before, state) {
  const names = state.table.seats.map((seat) => seat.name);
  const fresh = before && state.version > before.version ? state.events.slice(-(state.version - before.version)) : [];
  find("#spoken").textContent = fresh.map((event) => sentence(event, names, state.seat)).join(" ");
  document.title = state.seat !== null && state.table.turn === state.seat ? "Your turn – Rolling Stone" : "Rolling Stone";
}

let noticeTimer = 0;
function notify(text, stays = false) {
  const notice = find("#notice");
  clearTimeout(noticeTimer);
  notice.textContent = text;
  notice.hidden = !text;
  if (text && !stays) noticeTimer = setTimeout(() => notify(""), 5000);
}

// What the reader does

function play(action) {
  const { state, lookback } = page;
  if (lookback || !state) return;
  notify("");
  send("play", { action, version: state.version });
}

function setup() {
  if (page.hello?.control && page.state) openSetup(page.hello, page.state, (chosen) => send("setup", chosen));
}

function help() {
  const keys = page.lookback
    ? [["← →", "one action back or on"], ["↑ ↓", "pickup before, next pickup"], ["w", "next win"], ["d", "next difference"], ["space", "play on by itself"], ["Home End", "beginning, end"], ["Esc", "back to the table"]]
    : [["← →", "go through the cards that may be played"], ["Enter", "play the card"], ["1 … 9", "play that one of them"], ["p", "pick up"], ["u", "undo"], ["h", "ask the agent"], ["k", "where the cards can be"], ["n", "new cards, after the end"], ["s", "same cards, one seat on, after the end"], ["l", "look back, after the end"], ["space", "pause"], ["t", "rules, players and links"]];
  refill(find("#help"), el("form", { method: "dialog" },
    el("h2", { id: "help-title" }, "Rolling Stone"),
    el("p", {}, "Follow the suit that was led. If you have none of it, you pick up the trick and lead. If all have followed, the highest card leads next and the trick is out of play. Who is first to be rid of all cards wins."),
    el("h3", {}, "Keys"), el("dl", {}, keys.map(([key, told]) => [el("dt", {}, el("kbd", {}, key)), el("dd", {}, told)])),
    page.lookback ? el("p", {}, "Timeline: grey where there was a choice, orange pickups, green where somebody was out, violet where the agents differ.") : null,
    el("p", {}, "Click a card, or drag it upwards. D marks the dealer, L who leads; a suit struck through: no unseen card of it."),
    page.state?.seat === null || !page.state ? null : el("p", {}, el("label", {}, "Your name ", el("input", {
      id: "name", maxlength: 20, value: page.state.table.seats[page.state.seat].name, onchange: (event) => send("name", { name: event.target.value }),
    }))),
    el("p", { class: "buttons" }, el("button", { class: "main" }, "Close"))));
  find("#help").showModal();
}

function drawAdvicePanel() {
  const { state, shown, advice } = page;
  const turn = shown?.table.turn;
  const mayAsk = state && advice.name !== null && turn !== null && !state.failure && (turn === state.seat || (state.seat === null && state.open));
  const drawn = JSON.stringify([advice, mayAsk]);
  if (drawn === page.adviceDrawn) return;
  page.adviceDrawn = drawn;
  page.mayAsk = mayAsk;
  drawAdvice({ ...advice, advisers: page.hello.advisers, mayAsk }, {
    name: (name) => { advice.name = name; advice.opinion = null; drawAdvicePanel(); askAgain(); },
    always: (on) => { advice.always = on; askAgain(); },
    ask,
  });
}

function ask() {
  const { advice } = page;
  if (!page.mayAsk || advice.waiting) return;
  advice.waiting = send("hint", { agent: advice.name });
  drawAdvicePanel();
}

function askAgain() {
  const isOpen = find("#advice").open;
  if (!page.lookback && isOpen && page.advice.always && !page.advice.opinion) ask();
}

function askChances() {
  const { shown, state, lookback } = page;
  if (!find("#known").open || !shown || page.knowing) return;
  if (lookback) {
    const seat = lookback.seat ?? shown.table.turn;
    if (seat === null) tellKnown("The game is over.");
    else page.knowing = send("chances", { game: lookback.outline.game, at: lookback.at, seat });
  } else if (state.seat === null && !state.open) tellKnown("Only those who play can see this.");
  else if (shown.table.result) tellKnown("The game is over: all hands are open.");
  else page.knowing = send("know", { seat: state.seat ?? shown.table.turn });
}

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
  const legal = bySuit(page.state?.table.legal.filter((action) => action !== "pickup") ?? []).flatMap(([, cards]) => cards);
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
const toggle = (id) => { find(id).open = !find(id).open; };
const tableKeys = {
  p: () => press("pickup"), u: () => press("undo"), n: () => press("next"), s: () => press("same"), l: () => press("look"),
  t: () => press("setup-button"), " ": () => press("pause"), h: () => { find("#advice").open = true; ask(); }, k: () => toggle("#known"),
  ArrowRight: focusHand, ArrowLeft: focusHand, number: playNumber,
};

function focusHand() {
  if (find("#hand").contains(document.activeElement)) return false;
  find("#hand .card[tabindex='0']")?.focus();
  return true;
}

listenToHand(play, (card) => page.shown && page.state && !page.lookback && notify(whyNot(page.shown.table, card, page.shown.own)));
listenToKeys(new Proxy({}, {
  get: (_, key) => {
    if (key === "?") return () => help();
    if (key === "Escape") return leaveLookback;
    const keys = page.lookback ? page.lookback.keys : tableKeys;
    return Object.hasOwn(keys, key) ? keys[key] : undefined;
  },
}));
find("#known").addEventListener("toggle", askChances);
find("#advice").addEventListener("toggle", askAgain);
