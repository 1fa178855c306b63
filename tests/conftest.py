"""For all tests, and processes that they start: no word about compiling. What is printed must not depend on what was
compiled before. Windows open nowhere."""

from __future__ import annotations

import os

os.environ["RS_ENV_QUIET"] = "1"
os.environ["SDL_VIDEODRIVER"] = "dummy"
