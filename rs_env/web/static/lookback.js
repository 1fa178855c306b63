// Looking back at a game: forth and back, any view, what agents make of each decision, and where two of them differ.

import { el, find, refill, renew, svg } from "./dom.js";
import { opinionTable } from "./panels.js";
import { small } from "./cards.js";

const DIFFER = "Where do they differ?";

/** The position that the fragment of the address tells: "#game=3&at=17&seat=1". */
export function fragment() {
  const parameters = new URLSearchParams(location.hash.slice(1));
  const whole = (name) => (/^\d{1,9}$/.test(parameters.get(name) ?? "") ? Number(parameters.get(name)) : null);
  return { game: whole("game"), at: whole("at"), seat: whole("seat") };
}

/** A walk through games. `send` asks the server, `draw` shows {table, events, names, at, seat}. */
export class Lookback {
  constructor(send, draw, advisers, games) {
    Object.assign(this, { send, draw, advisers, games });
    this.agents = advisers.length ? [advisers[0], advisers[1] ?? advisers[0]] : [];
    this.outline = null;
    this.opinions = null;
    this.waiting = false;
    this.asks = false;
    this.playing = null;
    this.differences = new Map();
    this.compared = 0;
    this.box = find("#lookback");
    this.box.hidden = false;
    this.onHash = () => this.follow();
    addEventListener("hashchange", this.onHash);
    this.build();
    this.follow();
  }

  close() {
    removeEventListener("hashchange", this.onHash);
    clearInterval(this.playing);
    this.box.hidden = true;
  }

  /** Goes where the address says. */
  follow() {
    const { game, at, seat } = fragment();
    const wanted = Math.min(game ?? 0, this.games - 1);
    this.seat = seat;
    if (this.outline?.game !== wanted) {
      this.at = at ?? 0;
      this.send("game", { game: wanted });
    } else this.ask(at ?? 0);
  }

  go(at, seat = this.seat, game = this.outline?.game) {
    if (!this.outline) return;
    if (game === this.outline.game) at = Math.max(0, Math.min(at, this.outline.length));
    const parameters = { game, at, ...(seat === null ? {} : { seat }) };
    history.replaceState(null, "", `#${new URLSearchParams(parameters)}`);
    this.follow();
  }

  ask(at) {
    this.at = Math.min(at, this.outline.length);
    if (this.seat !== null && this.seat >= this.outline.names.length) this.seat = null;
    this.send("position", { game: this.outline.game, at: this.at, seat: this.seat });
  }

  /** Takes an answer of the server; whether it was one of these. */
  take(message) {
    const here = this.outline && message.game === this.outline.game;
    if (message.type === "game") {
      this.outline = message;
      this.differences.clear();
      this.compared = 0;
      this.rebuild();
      this.ask(this.at);
    } else if (message.type === "position" && here && message.at === this.at) {
      this.table = message.table;
      this.show();
    } else if (message.type === "think") {
      this.waiting = false;
      if (here && message.at === this.at && this.asked === this.chosen()) this.opinions = message;
      this.think();
      this.update();
    } else if (message.type === "compare" && here) {
      if (message.at === null) this.compared = 0;
      else {
        this.compared = message.at;
        if (message.chosen[0] !== message.chosen[1]) this.differences.set(message.at, message.chosen);
      }
      this.update();
    } else if (message.type === "stopped") this.stopped(message.question);
    else return ["position", "game", "compare"].includes(message.type);
    return true;
  }

  /** A question was given up. */
  stopped(question) {
    if (question === "think") {
      this.waiting = false;
      if (this.asked !== this.chosen()) this.think();
      else this.opinions = { at: this.at, opinions: [] };
    } else this.compared = 0;
    this.update();
  }

  /** A question was refused. */
  giveUp() {
    this.waiting = false;
    this.update();
  }

  show() {
    const { outline, at } = this;
    this.draw({
      table: this.table,
      events: outline.events.slice(0, at),
      names: outline.names,
      at,
      seat: this.seat,
      jump: (to) => this.go(to),
    });
    this.think();
    this.update();
  }

  think() {
    if (!this.asks || this.waiting || this.opinions?.at === this.at) return;
    this.opinions = null;
    if (!this.outline.free[this.at]) return;
    const agents = [...new Set(this.agents)];
    this.asked = this.chosen();
    this.waiting = agents.length > 0 && this.send("think", { game: this.outline.game, at: this.at, agents });
  }

  /** The agents that are chosen, as a text; a question to others is of no use any more. */
  chosen() {
    return this.agents.join(" ");
  }

  /** Jumps to the next place, forwards or back, for which `is` holds. */
  jump(step, is) {
    for (let at = this.at + step; at >= 0 && at <= this.outline.length; at += step) if (is(at)) return this.go(at);
  }

  play() {
    if (this.playing) this.playing = clearInterval(this.playing) ?? null;
    else this.playing = setInterval(() => (this.at < this.outline.length ? this.go(this.at + 1) : this.play()), 900);
    this.update();
  }

  build() {
    const button = (id, text, told, onclick) =>
      el("button", { id, type: "button", "aria-label": /[a-z]/i.test(text) ? null : told, title: told, onclick }, text);
    const event = (at) => this.outline.events[at - 1];
    const picked = (at) => at > 0 && ["picked up", "noticed"].includes(event(at).what);
    const won = (at) => at > 0 && (event(at).out.length > 0 || event(at).scores.length > 0);
    const chooser = (place) =>
      el(
        "select",
        {
          id: `agent-${place}`,
          "aria-label": place ? "Agent to compare with" : "Agent",
          onchange: (change) => {
            this.agents[place] = change.target.value;
            if (this.waiting) this.send("stop");
            this.opinions = null;
            this.differences.clear();
            this.show();
          },
        },
        this.advisers.map((name) => el("option", { value: name, selected: name === this.agents[place] }, name)),
      );
    this.keys = {
      ArrowRight: () => this.go(this.at + 1),
      ArrowLeft: () => this.go(this.at - 1),
      Home: () => this.go(0),
      End: () => this.go(this.outline.length),
      ArrowDown: () => this.jump(1, picked),
      ArrowUp: () => this.jump(-1, picked),
      w: () => this.jump(1, won),
      d: () => this.jump(1, (at) => this.differences.has(at)),
      " ": () => this.play(),
    };
    const slider = el("input", {
      id: "slider",
      type: "range",
      min: 0,
      max: 0,
      value: 0,
      "aria-label": "Position",
      oninput: (change) => this.go(Number(change.target.value)),
    });
    refill(
      this.box,
      el(
        "div",
        { class: "row", id: "games", hidden: this.games < 2 },
        button("game-before", "‹ game", "Game before", () => this.go(0, this.seat, Math.max(0, this.outline.game - 1))),
        el(
          "label",
          {},
          "Game ",
          el("input", {
            id: "game",
            type: "number",
            min: 1,
            max: this.games,
            onchange: (change) =>
              this.go(0, this.seat, Math.max(0, Math.min(this.games, Number(change.target.value) || 1) - 1)),
          }),
          ` of ${this.games}`,
        ),
        button("game-after", "game ›", "Next game", () =>
          this.go(0, this.seat, Math.min(this.games - 1, this.outline.game + 1)),
        ),
      ),
      svg("svg", {
        id: "timeline",
        viewBox: "0 0 1000 26",
        preserveAspectRatio: "none",
        role: "img",
        "aria-label": "Pickups, wins and differences along the game",
      }),
      slider,
      el(
        "div",
        { class: "row" },
        button("first", "|◀", "To the beginning (Home)", () => this.go(0)),
        button("back", "◀", "One action back (left arrow)", () => this.go(this.at - 1)),
        button("run", "play", "Play on by itself (space)", () => this.play()),
        button("on", "▶", "One action on (right arrow)", () => this.go(this.at + 1)),
        button("last", "▶|", "To the end (End)", () => this.go(this.outline.length)),
        el("output", { id: "where" }),
      ),
      el(
        "div",
        { class: "row" },
        button("pickup-before", "‹ pickup", "Pickup before (up arrow)", this.keys.ArrowUp),
        button("pickup-after", "pickup ›", "Next pickup (down arrow)", this.keys.ArrowDown),
        button("win-after", "win ›", "Next player out, or end of a deal (w)", this.keys.w),
        el(
          "label",
          {},
          "View ",
          el("select", {
            id: "viewer",
            onchange: (change) => this.go(this.at, change.target.value === "" ? null : Number(change.target.value)),
          }),
        ),
        button("link", "Copy link", "Copy a link to this position", () =>
          navigator.clipboard?.writeText(location.href),
        ),
      ),
    );
    if (!this.agents.length)
      return refill(
        find("#advice > div"),
        el("p", {}, "There is no agent to ask."),
        el("span", { id: "differ" }),
        el("div", { id: "opinions" }),
      );
    refill(
      find("#advice > div"),
      el(
        "p",
        { class: "ask" },
        chooser(0),
        "and",
        chooser(1),
        el(
          "label",
          {},
          el("input", {
            id: "asks",
            type: "checkbox",
            checked: this.asks,
            onchange: (change) => {
              this.asks = change.target.checked;
              this.opinions = null;
              this.show();
            },
          }),
          " ask at every decision",
        ),
      ),
      el(
        "p",
        { class: "ask" },
        button("compare", DIFFER, "Compare both agents at every decision", () => {
          if (this.compared) return this.send("stop");
          this.differences.clear();
          this.compared = -1;
          this.send("compare", { game: this.outline.game, agents: this.agents });
          this.update();
        }),
        button("difference", "next", "Next difference (d)", this.keys.d),
        el("span", { id: "differ", role: "status" }),
      ),
      el("p", { id: "remembered", class: "hint" }),
      el("div", { id: "opinions" }),
    );
    find("#advice").open = true;
  }

  rebuild() {
    const { names, length, events, free } = this.outline;
    find("#slider").max = length;
    find("#game").value = this.outline.game + 1;
    const { remembered } = this.outline;
    const deals = remembered === 1 ? "the deal before this one" : `the ${remembered} deals before this one`;
    if (find("#remembered")) find("#remembered").textContent = remembered ? `They remember ${deals}.` : "";
    refill(
      find("#viewer"),
      el("option", { value: "" }, "all hands"),
      names.map((name, seat) => el("option", { value: seat }, `${seat}: ${name}`)),
    );
    const x = (at) => (1000 * at) / Math.max(1, length);
    refill(
      find("#timeline"),
      free.map(
        (is, at) => is && svg("rect", { class: "free", x: x(at), y: 20, width: Math.max(1, 700 / length), height: 6 }),
      ),
      events.map(
        (event, at) =>
          ["picked up", "noticed"].includes(event.what) &&
          svg("rect", { class: "pickup", x: x(at + 1) - 1.5, y: 6, width: 3, height: 12 }),
      ),
      events.map(
        (event, at) =>
          (event.out.length || event.scores.length) &&
          svg("rect", { class: "win", x: x(at + 1) - 3, y: 0, width: 6, height: 20 }),
      ),
      svg("g", { id: "differing" }),
      svg("rect", { id: "now", x: 0, y: 0, width: 2.5, height: 26 }),
    );
  }

  update() {
    if (!this.outline) return;
    const { length, events } = this.outline,
      x = (at) => (1000 * at) / Math.max(1, length);
    find("#slider").value = this.at;
    find("#viewer").value = this.seat === null ? "" : String(this.seat);
    find("#where").textContent = `${this.at} of ${length}`;
    find("#now").setAttribute("x", x(this.at) - 1);
    find("#run").textContent = this.playing ? "stop" : "play";
    renew(
      find("#differing"),
      [...this.differences.keys()],
      (at) => at,
      (at) => svg("circle", { class: "differs", cx: x(at), cy: 13, r: 5 }),
    );
    const count = this.differences.size,
      running = this.compared ? ` so far, at ${Math.max(0, this.compared)} of ${length}` : "";
    if (find("#compare")) find("#compare").textContent = running ? "Stop comparing" : DIFFER;
    find("#differ").textContent = this.compared || count ? `${count} differ${count === 1 ? "s" : ""}${running}` : "";
    const played = events[this.at]?.action;
    refill(
      find("#opinions"),
      this.differences.has(this.at)
        ? el(
            "p",
            {},
            "They differ here: ",
            this.differences.get(this.at).map((action, place) => [place ? " against " : "", small(action)]),
          )
        : null,
      this.waiting
        ? el(
            "p",
            { class: "ask" },
            "thinking …",
            el("button", { id: "give-up", type: "button", onclick: () => this.send("stop") }, "Give up"),
          )
        : null,
      this.asks && played && this.opinions?.at === this.at && this.opinions.opinions.length
        ? el("p", {}, "Played: ", small(played))
        : null,
      this.asks && !this.waiting && !this.outline.free[this.at] ? el("p", { class: "hint" }, "No choice here.") : null,
      this.opinions?.at === this.at ? this.opinions.opinions.map(opinionTable) : null,
    );
  }
}
