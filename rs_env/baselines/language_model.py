"""A language model as a player, asked over HTTP by the interface that OpenAI made common (``/v1/chat/completions``).

Servers such as llama.cpp, vLLM and Ollama have it too. Only the standard library is needed.
"""

from __future__ import annotations

import json
import urllib.error
import urllib.parse
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPException
from typing import Any

import numpy as np

from rs_env.agent import Shown, seeds_for
from rs_env.cards import members
from rs_env.checks import check_seed, check_whole
from rs_env.describe import describe, describe_rules, parse_action
from rs_env.encoding import draws

_INSTRUCTION = "Think if you like, then end your answer with the one action that you take, written as it is listed."

_LONGEST = 86_400  # seconds


def _is_address(url: str) -> bool:
    try:
        parts = urllib.parse.urlsplit(url)
        return (
            parts.scheme in ("http", "https")
            and bool(parts.hostname)
            and parts.port != 0
            and url.isprintable()
            and " " not in url
        )
    except ValueError:  # the port is no number
        return False


class LanguageModel(Shown):
    """Asks a model for each decision, and plays what its answer names.

    model: the name by which the server knows it. url: where the interface is, up to ``/v1``. key: sent as bearer token,
    if given. tries: how often a decision is asked for; an answer that names no legal action is sent back with the
    reason, and after the last try a random legal action is played, by the seed. timeout: seconds for one answer.
    parallel: requests at a time. options: further fields of each request, such as ``temperature=0``.

    `asked`, `refused` and `given_up` count requests, answers without a legal action, and decisions left to chance.
    The model is told the rules, and in words what its seat knows (`rs_env.describe`); nothing else. `act` raises
    ConnectionError, naming the URL, where the server does not answer as it should. ValueError: settings out of range.
    """

    needs = ("a server at its url",)

    def __init__(
        self,
        model: str,
        url: str = "http://localhost:8000/v1",
        key: str | None = None,
        tries: int = 3,
        timeout: float = 60.0,
        parallel: int = 8,
        **options: Any,
    ) -> None:
        if not _is_address(url):
            raise ValueError(f"url={url!r} is not allowed: it must begin with http:// or https:// and be an address")
        is_number = isinstance(timeout, int | float) and not isinstance(timeout, bool)
        if not is_number or not 0 < timeout <= _LONGEST:
            raise ValueError(f"timeout={timeout!r} is not allowed: it must be seconds above 0, at most {_LONGEST}")
        if key is not None and not (isinstance(key, str) and key.isascii() and key.isprintable()):
            raise ValueError("key: it is not allowed: it must be printable ASCII text")  # which is shown to nobody
        self.name = f"language model {model}"
        self.model, self.url, self.timeout, self.options = model, url.rstrip("/"), timeout, options
        self.tries, self.parallel = check_whole("tries", tries, 1, 100), check_whole("parallel", parallel, 1, 1000)
        self.settings = {"model": model, "url": self.url, "tries": tries, "timeout": timeout, **options}
        self.asked = self.refused = self.given_up = 0
        self._key, self._seed = key, np.uint64(0)

    def reset(self, seed: int | None) -> None:
        """Draw from this seed where the model's answers are of no use. The model's own draws are the server's."""
        self._seed = np.uint64(check_seed(seed))

    def act(self, views: np.ndarray, seeds: np.ndarray | None = None) -> np.ndarray:
        """One legal action for each view, int64 (B,)."""
        marks = draws(views, seeds_for(views, self._seed, seeds))
        with ThreadPoolExecutor(self.parallel) as pool:
            chosen = list(pool.map(self._decide, views))
        self.asked += sum(tries for _, tries in chosen)
        self.refused += sum(max(0, tries - (action is not None)) for action, tries in chosen)
        self.given_up += sum(action is None for action, _ in chosen)
        legal = [members(view["legal"]) for view in views]
        by_chance = [choices[int(mark * len(choices))] for choices, mark in zip(legal, marks, strict=True)]
        return np.array([by_chance[i] if action is None else action for i, (action, _) in enumerate(chosen)], np.int64)

    def _decide(self, view: np.void) -> tuple[int | None, int]:
        """What the model chose, None where that is nothing legal, and the number of requests."""
        legal = members(view["legal"])
        if len(legal) == 1:
            return legal[0], 0
        messages = [
            {"role": "system", "content": f"{describe_rules(view)} {_INSTRUCTION}"},
            {"role": "user", "content": describe(view)},
        ]
        for tries in range(1, self.tries + 1):
            answer = self._ask(messages)
            try:
                return parse_action(answer, view), tries
            except ValueError as error:
                messages += [{"role": "assistant", "content": answer}, {"role": "user", "content": f"{error}."}]
        return None, self.tries

    def _ask(self, messages: list[dict[str, str]]) -> str:
        """The text of one answer."""
        address = f"{self.url}/chat/completions"
        body = json.dumps({"model": self.model, "messages": messages, **self.options}).encode()
        headers = {"Content-Type": "application/json"}
        if self._key is not None:
            headers["Authorization"] = f"Bearer {self._key}"
        request = urllib.request.Request(address, body, headers)
        try:
            with urllib.request.urlopen(request, timeout=self.timeout) as answer:
                found = json.load(answer)
            return str(found["choices"][0]["message"]["content"] or "")
        except urllib.error.HTTPError as error:
            told = error.read(300).decode(errors="replace")
            raise ConnectionError(f"{address} answered {error.code} {error.reason}: {told}") from None
        except (OSError, HTTPException) as error:
            raise ConnectionError(f"{address} does not answer: {error}") from None
        except (ValueError, LookupError, TypeError, RecursionError) as error:
            raise ConnectionError(f"{address} answered no chat completion: {error!r}") from None
