"""The file of a game's record, written whole each time, in whatever thread."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

from rs_env.files import write_whole
from rs_env.web.session import Session


class Keeper:
    """Writes the record of a session's game to a file of its own in a folder, which is made where it is missing."""

    def __init__(self, session: Session, folder: Path | None) -> None:
        """folder: None: nothing is written."""
        self._session = session
        self._file = None if folder is None else folder / f"{datetime.now():%Y-%m-%d-%H%M%S-%f}.jsonl"
        self._lock = threading.Lock()
        self._asked = self._written = session.version

    def work(self) -> Callable[[], None] | None:
        """What writes the record as it is now, in any thread; None where nothing has been played since. What it raises
        is an OSError.
        """
        version, file = self._session.version, self._file
        if file is None or version == self._asked or not self._session.story.events:
            return None
        self._asked = version
        text = json.dumps(self._session.record(), separators=(",", ":")) + "\n"

        def write() -> None:
            with self._lock:
                if version > self._written:  # else a newer one has been written
                    file.parent.mkdir(parents=True, exist_ok=True)
                    write_whole(file, text)
                    self._written = version

        return write
