// The websocket to the server. It comes back by itself; the server keeps everything, so nothing is lost with it.

const LONGEST_WAIT = 5000;

/** Calls back with every message, and with whether there is a connection. */
export class Connection {
  constructor(onMessage, onLink) {
    this.onMessage = onMessage;
    this.onLink = onLink;
    this.wait = 250;
    this.open();
  }

  open() {
    const address = new URL("/socket", location.href);
    address.protocol = location.protocol === "https:" ? "wss:" : "ws:";
    address.search = location.search;
    this.socket = new WebSocket(address);
    this.socket.onopen = () => {
      this.wait = 250;
      this.onLink(true);
    };
    this.socket.onmessage = (event) => this.onMessage(JSON.parse(event.data));
    this.socket.onclose = () => {
      this.onLink(false);
      setTimeout(() => this.open(), this.wait);
      this.wait = Math.min(2 * this.wait, LONGEST_WAIT);
    };
  }

  /** Whether the message could be sent. */
  send(type, fields = {}) {
    if (this.socket.readyState !== WebSocket.OPEN) return false;
    this.socket.send(JSON.stringify({ type, ...fields }));
    return true;
  }
}
