"""The rules as compiled code: scalar functions on one record of a game, written once for single games and batches."""
