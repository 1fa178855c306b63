// Draws a table from its data: seats around it, the trick in the middle, the viewer's hand below.

import { bySuit, cardName, face, sign, small, suitLetter } from "./cards.js";
import { el, find, refill, renew } from "./dom.js";
import { consequence, ordinal, plural } from "./words.js";

/** Where a seat is on the ellipse, in parts of the board, the own seat at the bottom. */
function place(seat, own, count) {
  const angle = Math.PI / 2 + (2 * Math.PI * ((seat - own + count) % count)) / count;
  return { x: Math.cos(angle), y: Math.sin(angle) };
}

/**
 * Draws everything. view: {table, names, own (the seat at the bottom that is the reader's, or null), agents, present,
 * event (the last one, or null), thinks, hand (cards that lie open below, or null), playable}.
 */
export function drawTable(view) {
  drawSeats(view);
  drawTrick(view);
  drawPile(view.table);
  drawHand(view);
}

function drawSeats({ table, names, own, bottom, agents, present, thinks, hand }) {
  const count = table.seats.length;
  const order = table.seats.map((_, step) => table.seats[(bottom + 1 + step) % count]); // clockwise from the left
  const seats = find("#seats");
  seats.dataset.count = count;
  renew(
    seats,
    order,
    (seat) => seat.number,
    () => el("article", { class: "seat" }),
    (element, seat) => {
      const { x, y } = place(seat.number, bottom, count);
      element.style.setProperty("--x", x.toFixed(3));
      element.style.setProperty("--y", y.toFixed(3));
      const isOwn = seat.number === own;
      element.classList.toggle("end", Math.abs(y) > 0.99);
      element.classList.toggle("turn", seat.is_turn);
      element.classList.toggle("own", isOwn);
      element.classList.toggle("below", seat.number === bottom && hand !== null);
      element.classList.toggle("out", seat.place !== null);
      const away = agents && agents[seat.number] === null && present && !present.includes(seat.number) && !isOwn;
      refill(
        element,
        el("h2", { title: names[seat.number] }, isOwn ? "You" : names[seat.number]),
        el(
          "p",
          { class: "marks" },
          el("span", { class: "count" }, plural(seat.size, "card")),
          seat.is_dealer ? mark("D", "dealer") : null,
          seat.is_leader && !seat.place ? mark("L", "leads this trick") : null,
          seat.place !== null ? el("strong", { class: "place" }, ordinal(seat.place)) : null,
          away ? el("em", {}, "away") : null,
          seat.is_turn && thinks
            ? el("span", { class: "thinks", role: "img", "aria-label": "is thinking" }, el("i"), el("i"), el("i"))
            : null,
        ),
        seat.number === bottom && hand !== null ? null : cardsOf(seat),
        knowledge(seat),
      );
    },
  );
}

const mark = (letter, told) => el("abbr", { class: "mark", title: told, role: "img", "aria-label": told }, letter);

/** The cards of a seat that are known, by suit, and how many are not. */
function cardsOf(seat) {
  return el(
    "div",
    { class: "cards" },
    bySuit(seat.cards).map(([suit, cards]) => el("span", { class: "suit" }, cards.map(small))),
    seat.backs
      ? el(
          "span",
          { class: "backs", "aria-label": `${seat.backs} face down`, role: "img" },
          Array.from({ length: Math.min(seat.backs, 12) }, () => el("i")),
        )
      : null,
  );
}

/** The suits that a seat is known to lack, or to have. */
function knowledge(seat) {
  const suits = [
    ...seat.excluded.map((suit) =>
      el(
        "span",
        { class: "lacks", title: `none of the unseen cards is of ${suit}` },
        sign(suitLetter(suit), `no unseen ${suit}`),
      ),
    ),
    ...seat.held.map((suit) =>
      el("span", { class: "holds", title: `holds an unseen card of ${suit}` }, sign(suitLetter(suit), `has ${suit}`)),
    ),
  ];
  return suits.length ? el("p", { class: "suits" }, suits) : null;
}

/** The trick; if none has begun, the last one, with what became of it. */
function drawTrick({ table, names, own, bottom, event }) {
  const isOld = !table.trick.length && event && event.ends !== "";
  const plays = isOld ? event.trick : table.trick.length || !event?.scores.length ? table.trick : event.trick;
  const trick = find("#trick");
  trick.dataset.count = table.seats.length;
  trick.classList.toggle("old", Boolean(isOld));
  renew(
    trick,
    plays,
    ([seat, card]) => `${seat}${card}`,
    ([, card]) => el("li", { class: "play" }, face(card), el("span", { class: "by" })),
    (element, [seat, card]) => {
      const { x, y } = place(seat, bottom, table.seats.length);
      element.style.setProperty("--x", x.toFixed(3));
      element.style.setProperty("--y", y.toFixed(3));
      element.setAttribute("aria-label", `${seat === own ? "You" : names[seat]}: ${cardName(card)}`);
      element.classList.toggle("best", isOld && event.ends === "completed" && seat === winner(event, table));
      element.querySelector(".by").textContent = seat === own ? "You" : names[seat];
    },
  );
  const outcome = event && (isOld || event.scores.length) ? consequence(event, names, own) : "";
  find("#felt").dataset.outcome = outcome;
}

/** Who won a trick that is complete: whoever leads next, unless that seat is out. */
const winner = (event, table) => (event.out.includes(event.leads) || table.result ? null : event.leads);

function drawPile(table) {
  const parts = [];
  if (table.dead.length) parts.push(`${plural(table.dead.length, "card")} out of play`);
  refill(
    find("#pile"),
    ...parts,
    table.trump
      ? el("span", { class: "trump" }, parts.length ? " · " : "", "trump ", sign(suitLetter(table.trump), table.trump))
      : null,
  );
}

function drawHand({ hand, playable, table, own }) {
  const box = find("#hand");
  box.hidden = !hand?.length;
  if (!hand) return;
  const legal = new Set(playable ? table.legal : []);
  const groups = bySuit(hand),
    focused = box.contains(document.activeElement);
  box.style.setProperty("--cards", hand.length);
  box.style.setProperty("--groups", groups.length);
  renew(
    box,
    groups,
    ([suit]) => suit,
    () => el("div", { class: "group" }),
    (group, [, cards]) => {
      renew(
        group,
        cards,
        (card) => card,
        (card) =>
          el(
            "button",
            { class: "card", type: "button", "data-action": card },
            face(card),
            el("span", { class: "unseen" }),
          ),
        (button, card) => {
          const may = legal.has(card);
          button.classList.toggle("legal", may);
          button.classList.toggle("barred", playable && !may);
          button.setAttribute("aria-disabled", String(!may));
          button.lastElementChild.textContent = cardName(card) + (may ? ", may be played" : "");
          button.tabIndex = -1;
        },
      );
    },
  );
  const first = box.querySelector(".legal") ?? box.querySelector(".card");
  if (first) first.tabIndex = 0;
  if (focused && !box.contains(document.activeElement)) first?.focus(); // the card that had it was played
  box.classList.toggle("mine", own !== null && table.turn === own);
}
