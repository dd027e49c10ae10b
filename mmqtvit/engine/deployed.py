"""Uses the deploy form where a model is only evaluated."""

from typing import Callable

from mmengine import Config
from mmengine.hooks import Hook
from mmengine.model import is_model_wrapper
from mmengine.runner import Runner
from torch import nn

from ..deployment import deploy
from ..errors import UserError


def deployed(model: nn.Module, say: Callable[[str], None]) -> nn.Module:
    """Return the deploy form of a model, or say why there is none and return the model."""
    try:
        return deploy(model)
    except UserError as error:
        say(f'The model is run as it was trained, not in the faster deploy form: {error}')
        return model


class DeployModel(Hook):
    """Tests the deploy form of the runner's model."""

    def before_test(self, runner: Runner) -> None:
        """Put the deploy form in the model's place."""
        model = runner.model.module if is_model_wrapper(runner.model) else runner.model
        runner.model = deployed(model, runner.logger.info)


def drop_averaging(cfg: Config) -> None:
    """Take out the hooks that average weights.

    In a test they exchange the model's weights with a copy's, which must have the same ones; a
    checkpoint has the averages in the model's place already.
    """
    cfg.custom_hooks = [hook for hook in cfg.get('custom_hooks') or []
                        if not str(hook.get('type')).endswith('EMAHook')]
