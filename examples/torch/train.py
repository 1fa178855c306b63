"""Self-play in plain PyTorch: one network plays all seats of 512 games, and learns from what each seat was paid."""

import time
from importlib.metadata import version

import torch
from torch import nn
from torch.distributions import Categorical

from rs_env import Rules, SelfPlayVectorEnv
from rs_env.arena import duel
from rs_env.baselines.logits import LogitsAgent

GAMES, STEPS, ROUNDS, LAMBDA = 512, 64, 32, 0.95
RULES = Rules(num_players=2)  # two equal players win half of the games each


def targets(players, rewards, over, values):
    """What each decision (T, B) led to, by the seat that took it, and whether that is known: the last decision of a
    seat in a rollout has no follower yet. rewards (T, B, n) are paid in the step that ends a game (`over`).
    """
    result, known = torch.zeros_like(values), torch.zeros_like(values, dtype=torch.bool)
    value, target = torch.zeros_like(rewards[0]), torch.zeros_like(rewards[0])  # of each seat's next decision
    has_next, games = torch.zeros_like(rewards[0], dtype=torch.bool), torch.arange(rewards.shape[1])
    for t in reversed(range(len(values))):
        value[over[t]] = target[over[t]] = rewards[t, over[t]]  # nothing follows but the reward
        has_next[over[t]] = True
        seat = (games, players[t])
        known[t], result[t] = has_next[seat], (1 - LAMBDA) * value[seat] + LAMBDA * target[seat]
        value[seat], target[seat] = values[t], torch.where(known[t], result[t], values[t])
        has_next[seat] = True
    return result, known


def main():
    """Train, measure before and after, and say what came out."""
    print(", ".join(f"{name} {version(name)}" for name in ("numpy", "torch")))
    torch.manual_seed(1)
    torch.set_num_threads(1)  # more pay on a machine that has nothing else to do
    vec = SelfPlayVectorEnv(GAMES, RULES, seed=1, skip_forced=True, observation_dtype="float32")
    net = nn.Sequential(nn.Linear(vec.layout.size, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 54))
    optimizer = torch.optim.Adam(net.parameters(), 1e-3)
    agent = LogitsAgent(lambda rows, masks: net(torch.from_numpy(rows))[:, :53].detach(), "self-play")
    print("before:", duel(agent, "random", RULES, deals=500))
    batch, begin = vec.reset(), time.perf_counter()
    for _ in range(ROUNDS):
        rows = []
        for _ in range(STEPS):
            shown = [torch.from_numpy(x.copy()) for x in (batch.observation, batch.action_mask, batch.current_player)]
            with torch.no_grad():
                out = net(shown[0])
            policy = Categorical(logits=out[:, :53].masked_fill(shown[1] == 0, -1e9))
            action = policy.sample()
            batch = vec.step(action.numpy())  # raises where a move is illegal
            paid = [torch.from_numpy(x.copy()) for x in (batch.rewards, batch.terminated | batch.truncated)]
            rows.append((*shown, action, policy.log_prob(action), out[:, 53], *paid))
        seen, masks, players, actions, before, values, rewards, over = (torch.stack(x) for x in zip(*rows, strict=True))
        wanted, known = targets(players.long(), rewards, over, values)
        better = wanted - values
        data = [x[known] for x in (seen, masks, actions, before, wanted, (better - better[known].mean()))]
        for chosen in (part for _ in range(2) for part in torch.randperm(len(data[0])).split(4096)):
            row, mask, action, old, target, advantage = (x[chosen] for x in data)
            out = net(row)
            policy = Categorical(logits=out[:, :53].masked_fill(mask == 0, -1e9))
            ratio, scale = (policy.log_prob(action) - old).exp(), advantage / (advantage.std() + 1e-8)
            gain = torch.min(ratio * scale, ratio.clamp(0.8, 1.2) * scale).mean() + 0.01 * policy.entropy().mean()
            optimizer.zero_grad()
            ((out[:, 53] - target).pow(2).mean() - gain).backward()
            optimizer.step()
    steps = ROUNDS * STEPS * GAMES
    print(f"{steps} decisions, {steps / (time.perf_counter() - begin):.0f} a second, 0 illegal moves")
    after = duel(agent, "random", RULES, deals=500)
    print("after:", after)
    assert after.bounds[0] > after.parity


if __name__ == "__main__":
    main()
