"""A server that runs until Ctrl-C, and says where it is."""

from __future__ import annotations

import socket
import sys
import threading
import webbrowser

import uvicorn

from rs_env.web.messages import LARGEST
from rs_env.web.server import LOCAL, Hall, application


def serve(hall: Hall, address: str, host: str, port: int, browser: bool) -> None:
    """Listen at a port of this machine, 0 for a free one, and say so; open the browser there if asked to.

    Raises OSError where the port cannot be had, and KeyboardInterrupt when it is over.
    """
    listening = _listen(host, port)
    port = listening.getsockname()[1]
    is_local = host in LOCAL
    shown = socket.gethostname() if host in ("0.0.0.0", "::") else host
    url = f"http://{f'[{shown}]' if ':' in shown else shown}:{port}{address}"
    if not is_local and host != "::1":
        print(
            f"warning: {host} lets in other machines; whoever has a link can use it, and nothing is encrypted",
            file=sys.stderr,
        )
    print(f"open {url}\nCtrl-C ends it", flush=True)
    if browser:
        threading.Thread(target=webbrowser.open, args=(url,), daemon=True).start()
    config = uvicorn.Config(
        application(hall, LOCAL if is_local else ("*",)),
        log_level="warning",
        access_log=False,
        ws="websockets-sansio",
        ws_max_size=LARGEST,
        timeout_graceful_shutdown=2,
        server_header=False,
    )
    uvicorn.Server(config).run(sockets=[listening])


def _listen(host: str, port: int) -> socket.socket:
    """A socket at that port; the browser may be opened at once, since it takes in whoever knocks early."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    family = min(entry[0] for entry in found)  # IPv4 where the name has both, which every machine has
    listening = socket.socket(family)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((host, port))
        listening.listen(128)
    except OSError as error:
        listening.close()
        raise OSError(f"host={host!r}, port={port}: {error}") from None
    return listening
