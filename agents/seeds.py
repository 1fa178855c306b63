"""Which seeds are whose: no deal of an evaluation is one of training."""

TRAINING_SEEDS = 1 << 63
"""Seeds of training are 0 .. this less one; as many from this on are of evaluation."""
