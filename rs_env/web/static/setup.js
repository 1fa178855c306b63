// The dialog in which whoever runs the table chooses the rules and the players, and finds the links for others.

import { el, find, refill } from "./dom.js";

const label = (name) => name.replaceAll("_", " ");

/** Opens the dialog. hello: form, presets and agents; state: rules, players and links of the present table. */
export function openSetup(hello, state, start) {
  const dialog = find("#setup");
  let rules = { ...state.rules };
  let players = [...state.players];

  const seats = el("fieldset", {}, el("legend", {}, "Who plays"));
  const drawSeats = () => {
    players = Array.from(
      { length: rules.num_players },
      (_, seat) => players[seat] ?? players.findLast((name) => name !== hello.person) ?? "heuristic",
    );
    refill(
      seats,
      el("legend", {}, "Who plays"),
      players.map((player, seat) =>
        el(
          "label",
          {},
          `Seat ${seat} `,
          el("input", {
            list: "agents",
            id: `player-${seat}`,
            value: player,
            required: true,
            autocomplete: "off",
            onfocus: (event) => event.target.select(),
            oninput: (event) => {
              players[seat] = event.target.value.trim();
            },
          }),
        ),
      ),
      el(
        "p",
        { class: "hint" },
        `“${hello.person}” for yourself and everybody else, else an agent, such as pimc:worlds=64.`,
      ),
    );
  };

  const options = el("div", { class: "options" });
  const drawOptions = () =>
    refill(
      options,
      hello.form.map((option) =>
        el(
          "div",
          { class: "option" },
          el("label", { for: `rule-${option.name}` }, label(option.name)),
          input(option, rules[option.name], (value) => {
            rules = { ...rules, [option.name]: value };
            if (option.name === "num_players") drawSeats();
          }),
          el("p", { id: `told-${option.name}` }, option.told),
        ),
      ),
    );

  const preset = el(
    "select",
    {
      id: "preset",
      onchange: (event) => {
        if (!event.target.value) return;
        rules = { ...hello.presets[event.target.value] };
        drawOptions();
        drawSeats();
      },
    },
    el("option", { value: "" }, "as now"),
    Object.keys(hello.presets).map((name) => el("option", { value: name }, label(name))),
  );

  const seed = el("input", { id: "seed", inputmode: "numeric", pattern: "[0-9]*", placeholder: "any" });
  const form = el(
    "form",
    {
      method: "dialog",
      onsubmit: (event) => {
        event.preventDefault();
        if (start({ rules, players, seed: seed.value ? Number(seed.value) : null })) dialog.close();
      },
    },
    el("h2", { id: "setup-title" }, "A new table"),
    el("p", {}, el("label", {}, "Rules like ", preset)),
    seats,
    el(
      "details",
      {},
      el("summary", {}, "All rules"),
      options,
      el("p", {}, el("label", {}, "Seed of the cards ", seed)),
    ),
    el(
      "p",
      { class: "buttons" },
      el("button", { type: "submit", class: "main" }, "Deal"),
      el("button", { type: "button", onclick: () => dialog.close() }, "Cancel"),
    ),
    links(state.links),
  );
  drawSeats();
  drawOptions();
  refill(
    dialog,
    form,
    el(
      "datalist",
      { id: "agents" },
      [hello.person, ...hello.known_agents].map((name) => el("option", { value: name })),
    ),
  );
  dialog.showModal();
}

/** The input of one option of the rules; `set(value)` gets what it means. */
function input(option, value, set) {
  const common = { id: `rule-${option.name}`, "aria-describedby": `told-${option.name}` };
  if (option.kind === "bool")
    return el("input", { ...common, type: "checkbox", checked: value, onchange: (event) => set(event.target.checked) });
  if (option.kind === "choice") {
    return el(
      "select",
      { ...common, onchange: (event) => set(event.target.value) },
      option.choices.map((choice) => el("option", { value: choice, selected: choice === value }, label(choice))),
    );
  }
  return el("input", {
    ...common,
    type: "number",
    step: option.kind === "int" ? 1 : "any",
    value: value ?? "",
    required: !option.optional,
    placeholder: option.optional ? "none" : "",
    onchange: (event) => set(event.target.value === "" ? null : Number(event.target.value)),
  });
}

function links(given) {
  const shown = Object.entries(given).filter(([name]) => name !== "host");
  return el(
    "section",
    { class: "links" },
    el("h3", {}, "Links for others"),
    shown.map(([name, path]) => {
      const address = new URL(path, location.href).href;
      const told = name === "watch" ? "To watch" : `For person ${Number(name) + 1}`;
      return el(
        "p",
        {},
        el(
          "label",
          {},
          `${told} `,
          el("input", { readonly: true, value: address, onfocus: (event) => event.target.select() }),
        ),
        el("button", { type: "button", onclick: () => navigator.clipboard?.writeText(address) }, "Copy"),
      );
    }),
    el(
      "p",
      { class: "hint" },
      "Other machines can use them where the server was started with --host. More persons at the table, more links.",
    ),
  );
}
