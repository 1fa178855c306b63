"""PyTorch learners for rs_env: policy and value networks, what they learn by, checkpoints, and trained agents."""

import os

# Threads of PyTorch that wait for one another sleep, unless the environment says otherwise. They would spin, and where
# other programs use the cores, too, each would spin away what the one that it waits for needs. It is read once, when
# PyTorch is loaded, which is after this.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
