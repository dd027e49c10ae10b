"""Writes what each process of a distributed run has learnt."""

import hashlib
from pathlib import Path

from mmengine.hooks import Hook
from mmengine.model import is_model_wrapper
from mmengine.registry import HOOKS


@HOOKS.register_module()
class HashWeights(Hook):
    """Writes a hash of all parameters and buffers after training, one file per process."""

    priority = 'LOWEST'

    def after_train(self, runner) -> None:
        assert is_model_wrapper(runner.model)
        digest = hashlib.sha256()
        for name, value in sorted(runner.model.module.state_dict().items()):
            digest.update(name.encode() + value.cpu().numpy().tobytes())
        Path(runner.work_dir, f'rank{runner.rank}.txt').write_text(digest.hexdigest())
