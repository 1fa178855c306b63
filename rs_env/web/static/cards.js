// Cards: their words and their faces.

import { el, svg } from "./dom.js";

export const SUITS = "cdhs";
export const RANKS = "23456789TJQKA";
const SUIT_NAMES = { c: "clubs", d: "diamonds", h: "hearts", s: "spades" };
const RANK_NAMES = { T: "10", J: "jack", Q: "queen", K: "king", A: "ace" };

export const suitOf = (card) => card[1];
export const rankText = (card) => (card[0] === "T" ? "10" : card[0]);
export const suitLetter = (name) => name[0];
export const cardName = (card) => `${RANK_NAMES[card[0]] ?? card[0]} of ${SUIT_NAMES[card[1]]}`;
export const actionName = (action) => (action === "pickup" ? "pick up" : cardName(action));

export const byPlace = (a, b) => SUITS.indexOf(a[1]) - SUITS.indexOf(b[1]) || RANKS.indexOf(a[0]) - RANKS.indexOf(b[0]);

/** Cards by suit, each suit sorted: [["c", ["7c", "Ac"]], ...]. */
export function bySuit(cards) {
  return [...SUITS]
    .map((suit) => [suit, cards.filter((card) => card[1] === suit).sort(byPlace)])
    .filter(([, group]) => group.length);
}

/** The sign of a suit, as a drawing. */
export const sign = (suit, label = null) =>
  svg(
    "svg",
    {
      class: `sign ${suit}`,
      viewBox: "0 0 100 100",
      ...(label ? { role: "img", "aria-label": label } : { "aria-hidden": "true" }),
    },
    svg("use", { href: `#suit-${suit}` }),
  );

/** A card in running text: its rank and sign. */
export const small = (card) =>
  card === "pickup"
    ? el("span", { class: "small" }, "pick up")
    : el(
        "span",
        { class: `small ${card[1]}`, role: "img", "aria-label": cardName(card) },
        rankText(card),
        sign(card[1]),
      );

/** The face of a card. */
export function face(card) {
  const rank = rankText(card),
    suit = card[1],
    court = "JQKA".includes(card[0]);
  const corner = (turn) =>
    svg(
      "g",
      { transform: turn ? "rotate(180 32 45)" : "rotate(0)" },
      svg(
        "text",
        {
          x: 10,
          y: 19,
          "text-anchor": "middle",
          class: "rank",
          ...(rank === "10" ? { textLength: 16, lengthAdjust: "spacingAndGlyphs" } : {}),
        },
        rank,
      ),
      svg("use", { href: `#suit-${suit}`, x: 4, y: 23, width: 12, height: 12 }),
    );
  const middle = court
    ? [
        svg("rect", { x: 19, y: 21, width: 26, height: 48, rx: 3, class: "panel" }),
        svg("text", { x: 32, y: 47, "text-anchor": "middle", class: "letter" }, rank),
        svg("use", { href: `#suit-${suit}`, x: 26, y: 52, width: 12, height: 12 }),
      ]
    : [svg("use", { href: `#suit-${suit}`, x: 19, y: 32, width: 26, height: 26 })];
  return svg(
    "svg",
    { class: `face ${suit}`, viewBox: "0 0 64 90", "aria-hidden": "true" },
    svg("rect", { x: 0.75, y: 0.75, width: 62.5, height: 88.5, rx: 6, class: "paper" }),
    ...middle,
    corner(false),
    corner(true),
  );
}
