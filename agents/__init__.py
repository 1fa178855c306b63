"""PyTorch learners for rs_env: a shared policy and value network, PPO by self-play, checkpoints, and trained agents."""
