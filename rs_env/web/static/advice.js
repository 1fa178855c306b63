// Questions about the present position: what an agent would do, and where the cards can be.

import { find } from "./dom.js";
import { page, send } from "./page.js";
import { drawAdvice, drawChances, tellKnown } from "./panels.js";

export function takeHint(message) {
  page.advice.waiting = false;
  if (message.version === page.state.version) page.advice.opinion = message;
  if (!page.lookback) drawAdvicePanel();
  askAgain();
}

/** The question was given up, by the reader or because the table has moved on. */
export function hintStopped() {
  page.advice.waiting = false;
  if (page.lookback) return;
  drawAdvicePanel();
  if (page.state?.version !== page.advice.asked) askAgain();
}

export function takeChances(message) {
  const isNow = message.type === "know" ? message.version === page.state?.version : message.at === page.lookback?.at;
  page.knowing = false;
  if (!isNow) return askChances();
  const { table, names, own } = page.shown;
  const deck = [
    ...new Set([...message.chances.flatMap(Object.keys), ...table.dead, ...table.trick.map(([, card]) => card)]),
  ];
  drawChances(message.chances, names, { seat: message.seat, own: message.seat === own }, deck);
}

export function drawAdvicePanel() {
  const { state, shown, advice } = page;
  const turn = shown?.table.turn;
  const mayAsk =
    state &&
    advice.name !== null &&
    turn !== null &&
    !state.failure &&
    (turn === state.seat || (state.seat === null && state.open));
  const drawn = JSON.stringify([advice, mayAsk]);
  if (drawn === page.adviceDrawn) return;
  page.adviceDrawn = drawn;
  page.mayAsk = mayAsk;
  drawAdvice(
    { ...advice, advisers: page.hello.advisers, mayAsk },
    {
      name: (name) => {
        advice.name = name;
        advice.opinion = null;
        drawAdvicePanel();
        askAgain();
      },
      always: (on) => {
        advice.always = on;
        askAgain();
      },
      ask: () => (advice.waiting ? send("stop") : ask()),
    },
  );
}

export function ask() {
  const { advice } = page;
  if (!page.mayAsk || advice.waiting) return;
  advice.waiting = send("hint", { agent: advice.name });
  advice.asked = page.state.version;
  drawAdvicePanel();
}

export function askAgain() {
  const isOpen = find("#advice").open;
  if (!page.lookback && isOpen && page.advice.always && !page.advice.opinion) ask();
}

export function askChances() {
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
