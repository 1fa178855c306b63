"""Pictures of a game. Each module imports what it draws with only when it is used."""
