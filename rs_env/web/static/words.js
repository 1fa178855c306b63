// What happens at the table, in words.

import { cardName } from "./cards.js";

const ORDINALS = ["1st", "2nd", "3rd", "4th", "5th", "6th", "7th", "8th"];
export const ordinal = (place) => ORDINALS[place - 1];
export const plural = (count, word) => `${count} ${word}${count === 1 ? "" : "s"}`;
const list = (names) => (names.length < 2 ? names.join("") : `${names.slice(0, -1).join(", ")} and ${names.at(-1)}`);
const inText = (who) => (who === "You" ? "you" : who);
const number = (value) => String(Math.round(value * 100) / 100);

/** The same at the beginning of a sentence. */
const listed = (names) => list(names.map((who, place) => (place ? inText(who) : who)));

/** The name of a seat for the reader: "You" where it is the reader's. */
export const called = (names, seat, own) => (seat === own ? "You" : names[seat]);
const verb = (word, seat, own) =>
  seat === own ? word : ({ have: "has", are: "is", cannot: "cannot", pick: "picks" }[word] ?? `${word}s`);

/** What an event did beyond the card that was played: the end of a trick, of a deal; "" for nothing. */
export function consequence(event, names, own) {
  const who = (seat) => called(names, seat, own);
  const parts = [];
  if (event.what === "noticed")
    parts.push(
      `${who(event.seat)} ${verb("are", event.seat, own)} caught and ${verb("take", event.seat, own)} the trick`,
    );
  else if (event.what === "picked up") {
    const others = event.takes.filter((seat) => seat !== event.seat);
    if (!others.length)
      parts.push(`${who(event.seat)} ${verb("pick", event.seat, own)} up ${plural(event.trick.length, "card")}`);
    else
      parts.push(
        `${who(event.seat)} cannot follow: ${list(event.takes.map(who).map(inText))} ${event.takes.length > 1 || others[0] === own ? "take" : "takes"} the cards back`,
      );
  } else if (event.ends === "completed" && !event.scores.length)
    parts.push(`${who(event.leads)} ${verb("lead", event.leads, own)} next`);
  if (event.out.length)
    parts.push(`${listed(event.out.map(who))} ${event.out.length > 1 || event.out[0] === own ? "are" : "is"} out`);
  if (event.scores.length)
    parts.push(`deal over: ${event.scores.map((score, seat) => `${inText(who(seat))}: ${number(score)}`).join(", ")}`);
  return parts.join("; ");
}

/** An event as a sentence, for those who listen. */
export function sentence(event, names, own) {
  const who = called(names, event.seat, own);
  const did =
    event.what === "picked up"
      ? ""
      : `${who}: ${cardName(event.action)}${event.what === "ruffed" ? ", a trump" : ""}. `;
  const then = consequence(event, names, own);
  return did + (then ? `${then}.` : "");
}

/** What there is to do now. */
export function toDo(state, table, names, own) {
  if (state.failure) return `The game has ended. ${state.failure}`;
  if (table.result) {
    const winners = table.seats.filter((seat) =>
      table.target === null ? seat.place === 1 : table.result.rewards?.[seat.number] > 0,
    );
    const how = table.result.truncated ? "Stopped by the limit of actions. " : "";
    return (
      how +
      (winners.length
        ? `${listed(winners.map((seat) => called(names, seat.number, own)))} ${winners.length > 1 || winners[0].number === own ? "win" : "wins"}.`
        : "Nobody wins.")
    );
  }
  if (table.turn !== own) {
    const who = names[table.turn];
    return state.paused ? `Paused; ${who} is to play.` : state.thinks ? `${who} is thinking …` : `${who} is to play.`;
  }
  const cards = table.legal.filter((action) => action !== "pickup");
  if (!cards.length) return `You have no ${table.led}: pick up the trick.`;
  if (!table.led) return table.barred ? `You lead, but not ${table.barred}.` : "You lead: play any card.";
  if (table.legal.includes("pickup"))
    return `You have no ${table.led}: pick up, or play ${state.silent ? "another card and hope" : "a trump"}.`;
  return `Your turn: follow ${table.led}${cards.some((card) => card[1] !== table.led[0]) ? ", or play a trump" : ""}.`;
}

/** Why a card may not be played now. */
export function whyNot(table, card, own) {
  if (table.turn !== own) return "It is not your turn.";
  if (table.led)
    return table.legal.length === 1 && table.legal[0] === "pickup"
      ? `You have no ${table.led}: pick up the trick.`
      : `You must follow ${table.led}.`;
  return table.barred && card[1] === table.barred[0]
    ? `${table.barred} may not be led right after a pickup.`
    : "This card may not be played now.";
}
