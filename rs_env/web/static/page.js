// What the page knows, and how it speaks to the server and to the reader.

import { find } from "./dom.js";

export const page = {
  connection: null,
  hello: null, // what the server told first
  state: null, // the newest state of the table
  shown: null, // what is drawn: {table, events, names, own, ...}
  lookback: null, // a walk through a game that is over
  advice: { name: null, always: false, opinion: null, waiting: false, asked: null },
  slow: false, // whether an agent thinks long
  knowing: false, // whether the chances of cards were asked for
};

/** Whether the message could be sent. */
export const send = (type, fields) => page.connection.send(type, fields);

let noticeTimer = 0;
/** Shows a message, for some seconds or until the next one. */
export function notify(text, stays = false) {
  const notice = find("#notice");
  clearTimeout(noticeTimer);
  notice.textContent = text;
  notice.hidden = !text;
  if (text && !stays) noticeTimer = setTimeout(() => notify(""), 5000);
}

/** Takes an action in the position that is shown. */
export function play(action) {
  const { state, lookback } = page;
  if (lookback || !state) return;
  notify("");
  send("play", { action, version: state.version });
}
