"""Self-play in JAX and Flax: rollouts are written to buffers that become `jax.Array`s without a copy.

Returns are those of each seat, taken backwards through the rollout inside one compiled function.
"""

import itertools
import time
from functools import partial
from importlib.metadata import version

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import optax

from rs_env import Batch, Rules, SelfPlayVectorEnv
from rs_env.arena import duel
from rs_env.baselines.logits import LogitsAgent

GAMES, STEPS, ROUNDS, MINIBATCHES, LAMBDA = 512, 64, 32, 8, 0.95
RULES = Rules(num_players=2)  # two equal players win half of the games each


class PolicyValue(nn.Module):
    """Logits (B, 53) and values (B,) of int8 observations (B, D); the scaling to 0..1 is a part of it."""

    high: tuple[float, ...]

    @nn.compact
    def __call__(self, rows):
        """See the class."""
        x = rows.astype(jnp.float32) / jnp.array(self.high)
        for _ in range(2):
            x = nn.relu(nn.Dense(256)(x))
        out = nn.Dense(54)(x)
        return out[:, :53], out[:, 53]


def shown(array: np.ndarray) -> jax.Array:
    """The memory of a NumPy array as JAX sees it, without a copy where it is aligned as JAX wants it."""
    return jnp.from_dlpack(array)


def aligned_batch(vec: SelfPlayVectorEnv) -> Batch:
    """Buffers for one step whose memory begins where JAX wants it, at a multiple of 64 bytes."""
    batch = vec.new_batch()
    for name, array in vars(batch).items():
        memory = np.zeros(array.nbytes + 64, np.uint8)
        begin = -memory.ctypes.data % 64
        setattr(batch, name, memory[begin : begin + array.nbytes].view(array.dtype).reshape(array.shape))
    return batch


@partial(jax.jit, static_argnums=0)
def act(net, weights, key, rows, mask):
    """An action for each row, with its log-probability and the value of the row."""
    logits, values = net.apply(weights, rows)
    logits = jnp.where(mask == 1, logits, -1e9)
    actions = jax.random.categorical(key, logits)
    return actions, jnp.take_along_axis(jax.nn.log_softmax(logits), actions[:, None], 1)[:, 0], values


@jax.jit
def targets(players, rewards, over, values):
    """What each decision (T, B) led to, by the seat that took it, and whether that is known."""
    games = jnp.arange(players.shape[1])

    def back(carry, step):
        value, target, has_next = carry  # (B, n), of each seat's next decision
        player, reward, ended, now = step
        value, target = (jnp.where(ended[:, None], reward, x) for x in (value, target))
        has_next = has_next | ended[:, None]
        known = has_next[games, player]
        result = (1 - LAMBDA) * value[games, player] + LAMBDA * target[games, player]
        value = value.at[games, player].set(now)
        target = target.at[games, player].set(jnp.where(known, result, now))
        return (value, target, has_next.at[games, player].set(True)), (result, known)

    start = (jnp.zeros_like(rewards[0]), jnp.zeros_like(rewards[0]), jnp.zeros_like(rewards[0], bool))
    return jax.lax.scan(back, start, (players, rewards, over, values), reverse=True)[1]


@partial(jax.jit, static_argnums=(0, 1))
def learn(net, optimizer, weights, state, key, data):
    """One epoch of PPO over a rollout."""

    def loss(weights, part):
        rows, mask, actions, before, wanted, advantage, known = part
        logits, values = net.apply(weights, rows)
        log = jax.nn.log_softmax(jnp.where(mask == 1, logits, -1e9))
        ratio = jnp.exp(jnp.take_along_axis(log, actions[:, None], 1)[:, 0] - before)
        gain = jnp.minimum(ratio * advantage, ratio.clip(0.8, 1.2) * advantage)
        entropy = -(jnp.exp(log) * jnp.where(mask == 1, log, 0)).sum(1)
        return (((values - wanted) ** 2 - gain - 0.01 * entropy) * known).sum() / known.sum()

    def step(carry, part):
        weights, state = carry
        updates, state = optimizer.update(jax.grad(loss)(weights, part), state)
        return (optax.apply_updates(weights, updates), state), None

    order = jax.random.permutation(key, len(data[0])).reshape(MINIBATCHES, -1)

    def minibatch(carry, chosen):
        return step(carry, tuple(x[chosen] for x in data))

    return jax.lax.scan(minibatch, (weights, state), order)[0]


def main() -> None:
    """Train, measure before and after, and say what came out."""
    print(", ".join(f"{name} {version(name)}" for name in ("jax", "flax", "optax", "numpy")))
    vec = SelfPlayVectorEnv(GAMES, RULES, seed=1, skip_forced=True)
    net = PolicyValue(tuple(vec.layout.high.astype(float).tolist()))
    key = jax.random.key(1)
    weights = net.init(key, jnp.zeros((1, vec.layout.size), jnp.int8))
    optimizer = optax.adam(1e-3)
    state, apply = optimizer.init(weights), jax.jit(net.apply)
    agent = LogitsAgent(lambda rows, masks: apply(weights, rows)[0], "JAX", observation_dtype="int8")
    print("before:", duel(agent, "random", RULES, deals=500))

    buffers = [
        aligned_batch(vec) for _ in range(STEPS + 1)
    ]  # one for each step, so that none is overwritten while in use
    same = sum(shown(b.observation).unsafe_buffer_pointer() == b.observation.ctypes.data for b in buffers)
    print(f"{same} of {len(buffers)} observation buffers are JAX's without a copy")
    vec.reset(out=buffers[0])
    begin = time.perf_counter()
    for _ in range(ROUNDS):
        taken = []
        for now, after in itertools.pairwise(buffers):
            key, draw = jax.random.split(key)
            taken.append(act(net, weights, draw, shown(now.observation), shown(now.action_mask)))
            vec.step(np.asarray(taken[-1][0]), out=after)  # raises where a move is illegal
        actions, before, values = (jnp.stack(x) for x in zip(*taken, strict=True))
        rows, masks, players = (
            np.stack([getattr(b, name) for b in buffers[:-1]])
            for name in ("observation", "action_mask", "current_player")
        )
        rewards = np.stack([b.rewards for b in buffers[1:]])
        over = np.stack([b.terminated | b.truncated for b in buffers[1:]])
        wanted, known = targets(players.astype(np.int32), rewards, over, values)
        better = jnp.where(known, wanted - values, 0)
        scaled = (better - better.sum() / known.sum()) / (jnp.sqrt((better**2).sum() / known.sum()) + 1e-8)
        data = tuple(x.reshape(-1, *x.shape[2:]) for x in (rows, masks, actions, before, wanted, scaled, known))
        for _ in range(2):
            key, draw = jax.random.split(key)
            weights, state = learn(net, optimizer, weights, state, draw, data)
        # The last step's batch is the first of the next rollout.
        for name, array in vars(buffers[-1]).items():
            getattr(buffers[0], name)[:] = array
    steps = ROUNDS * STEPS * GAMES
    print(f"{steps} decisions, {steps / (time.perf_counter() - begin):.0f} a second, 0 illegal moves")
    after = duel(agent, "random", RULES, deals=500)
    print("after:", after)
    assert after.bounds[0] > after.parity


if __name__ == "__main__":
    main()
