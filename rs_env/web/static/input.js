// Playing a card by click, by dragging it to the table, and by keys.

import { find } from "./dom.js";

const FAR = 50; // pixels upwards after which a card that is let go is played
const STILL = 6; // pixels that a click may move

/** Calls `play(action)` for what is chosen, and `refuse(card)` for a card that may not be played. */
export function listenToHand(play, refuse) {
  const hand = find("#hand");
  let dragged = null;

  const choose = (button) =>
    button.classList.contains("legal") ? play(button.dataset.action) : refuse(button.dataset.action);

  hand.addEventListener("pointerdown", (event) => {
    const button = event.target.closest(".card");
    if (!button || event.button) return;
    dragged = { button, x: event.clientX, y: event.clientY, moved: false };
  });
  hand.addEventListener("pointermove", (event) => {
    if (!dragged) return;
    const dx = event.clientX - dragged.x,
      dy = event.clientY - dragged.y;
    if (!dragged.moved && Math.hypot(dx, dy) < STILL) return;
    if (!dragged.moved) dragged.button.setPointerCapture(event.pointerId);
    dragged.moved = true;
    dragged.button.classList.add("dragged");
    dragged.button.style.translate = `${dx}px ${dy}px`;
  });
  const drop = (event) => {
    if (!dragged) return;
    const { button, moved, y } = dragged;
    dragged = null;
    button.classList.remove("dragged");
    button.style.translate = "";
    if (moved) {
      if (event.type === "pointerup" && y - event.clientY > FAR) choose(button);
      hand.dataset.dropped = "1"; // the click that follows is none
      setTimeout(() => delete hand.dataset.dropped, 0);
    }
  };
  hand.addEventListener("pointerup", drop);
  hand.addEventListener("pointercancel", drop);
  hand.addEventListener("click", (event) => {
    const button = event.target.closest(".card");
    if (button && !hand.dataset.dropped) choose(button);
  });
  hand.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    const cards = [...hand.querySelectorAll(".card")];
    const legal = cards.filter((card) => card.classList.contains("legal"));
    const choice = legal.length ? legal : cards;
    const here = cards.indexOf(document.activeElement);
    const next =
      step > 0
        ? choice.find((card) => cards.indexOf(card) > here)
        : choice.findLast((card) => cards.indexOf(card) < here);
    (next ?? choice.at(step > 0 ? 0 : -1))?.focus();
    event.preventDefault();
  });
}

/** Calls actions by key; a key does nothing while somebody types, or in a dialog. */
export function listenToKeys(keys) {
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, select, textarea, dialog"))
      return;
    const action =
      keys[event.key.length === 1 ? event.key.toLowerCase() : event.key] ??
      (/^[1-9]$/.test(event.key) ? () => keys.number?.(Number(event.key)) : null);
    if (!action || (event.key === " " && event.target.closest("button, summary"))) return;
    if (action() !== false) event.preventDefault();
  });
}
