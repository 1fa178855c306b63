"""What can be computed about a game and an agent: exact values of small games, and a search for best responses."""
