# /// environment
# name = "rl"
# requires = ["torch==2.13.0", "tensordict==0.15.3", "gitpython", "tensorboard", "numpy"]
# without_dependencies = ["rsl-rl-lib==5.5.1"]
# ///
"""rsl_rl's OnPolicyRunner with PPO on four environments of its own; a step of the clock is one learning iteration."""

import torch
from clock import Clock
from rsl_rl.env import VecEnv
from rsl_rl.runners import OnPolicyRunner
from tensordict import TensorDict

ENVIRONMENTS, HORIZON = 4, 24
clock = Clock(samples_per_step=ENVIRONMENTS * HORIZON)


class Walk(VecEnv):
    num_envs, num_actions, max_episode_length, device, cfg = ENVIRONMENTS, 2, 100, "cpu", {}
    episode_length_buf = torch.zeros(ENVIRONMENTS, dtype=torch.long)
    count = 0

    def get_observations(self):
        return TensorDict({"policy": torch.randn(ENVIRONMENTS, 8)}, batch_size=[ENVIRONMENTS])

    def step(self, actions):
        self.count += 1
        if self.count % HORIZON == 0:
            clock.work(0.1, 0.2)
        return self.get_observations(), torch.randn(ENVIRONMENTS), torch.rand(ENVIRONMENTS) < 0.05, {}


settings = {
    "num_steps_per_env": HORIZON, "save_interval": 40, "obs_groups": {"actor": ["policy"], "critic": ["policy"]},
    "algorithm": {"class_name": "PPO"}, "actor": {
        "class_name": "MLPModel", "hidden_dims": [32], "distribution_cfg": {"class_name": "GaussianDistribution"},
    },
    "critic": {"class_name": "MLPModel", "hidden_dims": [32]},
}  # fmt: skip
runner = OnPolicyRunner(Walk(), settings, log_dir="work")
log = runner.logger.log


def timed_log(*arguments, **options):
    clock.step()
    with clock.pause("logging"):
        log(*arguments, **options)


runner.logger.log = timed_log
clock.start()
runner.learn(100)
clock.write()
