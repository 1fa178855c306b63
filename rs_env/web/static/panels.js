// What stands beside the table: score, advice, the chances of cards, and the story.

import { actionName, cardName, RANKS, rankText, sign, small, SUITS } from "./cards.js";
import { el, find, refill } from "./dom.js";
import { called, consequence, plural } from "./words.js";

const round = (value) => String(Math.round(value * 100) / 100);
export const percent = (value) => `${Math.round(100 * value)}%`;

const box = (panel) => find(`#${panel} > div`);

/** Games won, and the totals of a match. */
export function drawScore(tally, table, names, own) {
  const totals =
    table.totals &&
    el(
      "table",
      {},
      el("caption", {}, `Match to ${round(table.target)}, deal ${table.deal}`),
      el(
        "tbody",
        {},
        table.totals.map((total, seat) =>
          el("tr", {}, el("th", { scope: "row" }, called(names, seat, own)), el("td", {}, round(total))),
        ),
      ),
    );
  const result =
    table.result?.scores &&
    !table.totals &&
    el(
      "table",
      {},
      el("caption", {}, "This deal"),
      el(
        "tbody",
        {},
        table.result.scores.map((score, seat) =>
          el("tr", {}, el("th", { scope: "row" }, called(names, seat, own)), el("td", {}, round(score))),
        ),
      ),
    );
  const won =
    tally?.some(({ games }) => games) &&
    el(
      "table",
      {},
      el("caption", {}, `Won of ${plural(tally[0].games, "game")}`),
      el(
        "tbody",
        {},
        tally.map(({ name, wins }) => el("tr", {}, el("th", { scope: "row" }, name === names[own] ? "You" : name), el("td", {}, round(wins)))),
      ),
    );
  const shown = [totals, result, won].filter(Boolean);
  find("#score").hidden = !shown.length;
  refill(box("score"), shown);
}

/** What agents make of a decision: a bar for each legal action. */
export function opinionTable({ agent, choice, kind, numbers, why }) {
  const entries = Object.entries(numbers);
  const head = el("p", {}, el("strong", {}, agent), ": ", small(choice));
  const reasons = why.length ? el("ul", { class: "why", "aria-label": "Why" }, why.map((told) => el("li", {}, told))) : null;
  if (!entries.length) return el("div", { class: "opinion" }, head, reasons);
  const values = entries.map(([, number]) => number);
  const low = kind === "values" ? Math.min(0, ...values) : 0,
    high = kind === "values" ? Math.max(...values) : 1;
  const told = kind === "values" ? "chance of a good end, as it sees it" : "how often it would play this";
  return el(
    "div",
    { class: "opinion" },
    head,
    reasons,
    el(
      "table",
      {},
      el("caption", {}, told),
      el(
        "tbody",
        {},
        entries
          .sort((a, b) => b[1] - a[1])
          .map(([action, number]) =>
            el(
              "tr",
              { class: action === choice ? "chosen" : "" },
              el("th", { scope: "row", "aria-label": actionName(action) }, small(action)),
              el(
                "td",
                { class: "bar" },
                el("meter", {
                  min: low,
                  max: Math.max(high, low + 1e-9),
                  value: number,
                  "aria-label": actionName(action),
                }),
              ),
              el("td", {}, kind === "values" ? number.toFixed(3) : percent(number)),
            ),
          ),
      ),
    ),
  );
}

/** The chances of all cards as a grid of suits and ranks for each seat but the viewer's. */
export function drawChances(chances, names, viewer, deck) {
  const ranks = [...RANKS].filter((rank) => deck.some((card) => card[0] === rank));
  const suits = [...SUITS].filter((suit) => deck.some((card) => card[1] === suit));
  refill(
    box("known"),
    el(
      "p",
      { class: "hint" },
      `For ${viewer.own ? "you" : names[viewer.seat]}, if all deals that fit what was seen are equally likely.`,
    ),
    chances.map((row, seat) =>
      seat === viewer.seat
        ? null
        : el(
            "table",
            { class: "heat" },
            el("caption", {}, names[seat]),
            el(
              "thead",
              {},
              el(
                "tr",
                {},
                el("td"),
                ranks.map((rank) => el("th", { scope: "col" }, rankText(rank))),
              ),
            ),
            el(
              "tbody",
              {},
              suits.map((suit) =>
                el(
                  "tr",
                  {},
                  el("th", { scope: "row" }, sign(suit, { c: "clubs", d: "diamonds", h: "hearts", s: "spades" }[suit])),
                  ranks.map((rank) => heatCell(rank + suit, row[rank + suit] ?? 0, deck)),
                ),
              ),
            ),
          ),
    ),
  );
}

function heatCell(card, chance, deck) {
  if (!deck.includes(card)) return el("td", { class: "none" });
  const cell = el(
    "td",
    { title: `${cardName(card)}: ${percent(chance)}` },
    chance === 0 ? "" : chance === 1 ? "✓" : String(Math.round(100 * chance)),
  );
  cell.style.setProperty("--chance", chance);
  cell.classList.toggle("sure", chance === 1);
  cell.classList.toggle("likely", chance > 0.5 && chance < 1);
  return cell;
}

export const tellKnown = (text) => refill(box("known"), el("p", {}, text));

/** The tricks, the newest first; `jump(number of actions)` where one can go to them. */
export function drawStory(events, names, own, jump = null, first = 0) {
  const lines = [];
  events.forEach((event, number) => {
    const last = lines.at(-1);
    const goesOn = last && !last.ended;
    const line = goesOn ? last : { plays: [], told: "", ended: false, at: first + number + 1, deal: event.deal };
    if (!goesOn) lines.push(line);
    line.plays = event.trick;
    line.at = first + number + 1;
    line.told = consequence(event, names, own);
    line.ended = event.ends !== "" || event.scores.length > 0;
  });
  refill(
    box("story"),
    lines.length ? null : el("p", {}, "Nothing yet."),
    el(
      "ol",
      { reversed: true },
      lines.reverse().map((line) => {
        const content = [
          line.plays.map(([seat, card], place) => [place ? " · " : "", `${called(names, seat, own)} `, small(card)]),
          line.told ? el("small", {}, line.told) : null,
        ];
        return el(
          "li",
          {},
          jump
            ? el("button", { type: "button", onclick: () => jump(line.at), id: `line-${line.at}` }, content)
            : content,
        );
      }),
    ),
  );
}

/** The form that asks an agent. `ask(name)`; `always` keeps on asking. */
export function drawAdvice({ advisers, name, always, opinion, waiting, mayAsk }, on) {
  refill(
    box("advice"),
    el(
      "p",
      { class: "ask" },
      el(
        "label",
        {},
        "Agent ",
        el(
          "select",
          { id: "adviser", onchange: (event) => on.name(event.target.value) },
          advisers.map((adviser) => el("option", { value: adviser, selected: adviser === name }, adviser)),
        ),
      ),
      el(
        "button",
        { type: "button", id: "ask", disabled: !mayAsk && !waiting, onclick: on.ask },
        waiting ? "Give up" : "Ask",
      ),
      el(
        "label",
        {},
        el("input", {
          type: "checkbox",
          id: "always",
          checked: always,
          onchange: (event) => on.always(event.target.checked),
        }),
        " every turn",
      ),
    ),
    waiting
      ? el("p", {}, "thinking …")
      : opinion
        ? opinionTable(opinion)
        : el("p", { class: "hint" }, mayAsk ? "" : "When it is your turn."),
  );
}
