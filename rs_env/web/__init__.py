"""A table in the browser and in the terminal, and replays with what agents think; see ``docs/play.md``.

`story` tells what happens in a game, `session` is a table with its players, `replay` looks back at games, `thinking`
asks agents what they make of a position; none of them knows a network. `messages` is what pages send, `room` and
`server` bring it all to browsers, `terminal` to a terminal; `commands` are ``python -m rs_env play`` and ``watch``.
"""
