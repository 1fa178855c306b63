"""A language model sits at a table with random players.

    python run.py --url http://localhost:8000/v1 --model NAME --deals 25     # any server with the interface of OpenAI
    python run.py --stub                                                     # without one

The stub stands in for a server, to try the way there and back: it reads the legal actions in the text that it is sent
and names the last of them, in a sentence; every tenth answer names no action at all, so that it is asked again.
"""

import argparse
import json
import re
import sys
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from rs_env import Game
from rs_env.arena import duel
from rs_env.baselines.language_model import LanguageModel
from rs_env.describe import describe, describe_rules


class Stub(BaseHTTPRequestHandler):
    """Answers as a language model would that takes its highest legal card."""

    asked = 0

    def do_POST(self) -> None:
        """One chat completion."""
        messages = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["messages"]
        legal = re.findall(r"(?:Legal actions:|allowed are) ([^.]*)", messages[-1]["content"])[0].split()
        Stub.asked += 1
        told = "I am not sure." if Stub.asked % 10 == 0 else f"I hold {legal[0]} too, but I play {legal[-1]}."
        body = json.dumps({"choices": [{"message": {"role": "assistant", "content": told}}]}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments: object) -> None:
        """Say nothing."""


@contextmanager
def stub_server():
    """The address of a stub, on this machine alone."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Stub)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        server.shutdown()
        server.server_close()


def play(url: str, model: str, deals: int) -> None:
    """Show what the model is told, then let it play some deals from every seat."""
    game = Game(seed=1)
    print(describe_rules(game.view(game.turn)), describe(game.view(game.turn)), sep="\n\n", end="\n\n")
    player = LanguageModel(model, url)
    print(duel(player, "random", deals=deals))
    print(f"{player.asked} requests, {player.refused} answers refused, {player.given_up} decisions left to chance")


def main(arguments: list[str]) -> None:
    """Parse, play."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--url", default="http://localhost:8000/v1")
    parser.add_argument("--model", default="stub")
    parser.add_argument("--deals", type=int, default=25)
    parser.add_argument("--stub", action="store_true", help="start a stub, and ask that")
    given = parser.parse_args(arguments)
    if given.stub:
        with stub_server() as url:
            play(url, given.model, given.deals)
    else:
        play(given.url, given.model, given.deals)


if __name__ == "__main__":
    main(sys.argv[1:])
