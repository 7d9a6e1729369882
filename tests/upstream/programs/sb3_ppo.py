# /// environment
# name = "torch"
# requires = ["torch==2.13.0", "stable-baselines3==2.9.2"]
# ///
"""Stable-Baselines3's PPO with verbose=1 on an environment of its own; a step of the clock is one iteration."""

import gymnasium
import numpy as np
from clock import Clock
from stable_baselines3 import PPO
from stable_baselines3.common.callbacks import BaseCallback

clock = Clock(samples_per_step=256)


class Walk(gymnasium.Env):
    observation_space = gymnasium.spaces.Box(-1.0, 1.0, (4,), np.float32)
    action_space = gymnasium.spaces.Discrete(2)
    count = 0

    def reset(self, seed=None, options=None):
        super().reset(seed=seed)
        return self.np_random.random(4, np.float32), {}

    def step(self, action):
        Walk.count += 1
        if Walk.count % 16 == 0:
            clock.work(0.03, 0.06)
        return self.np_random.random(4, np.float32), float(action), self.np_random.random() < 0.05, False, {}


class Steps(BaseCallback):
    def _on_training_start(self):
        clock.start()

    def _on_step(self):
        return True

    def _on_rollout_end(self):
        clock.step()


PPO("MlpPolicy", Walk(), n_steps=256, batch_size=64, n_epochs=2, verbose=1, device="cpu").learn(
    256 * 100, callback=Steps()
)
clock.write()
