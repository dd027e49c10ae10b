"""Statistics of batch norms for averaged weights."""

from mmengine.hooks import EMAHook
from mmengine.runner import Runner
from mmpretrain.engine.hooks import PreciseBNHook
from mmpretrain.engine.hooks.precise_bn_hook import update_bn_stats
from mmpretrain.registry import HOOKS
from torch.nn.modules.batchnorm import _BatchNorm

from ...errors import UserError


@HOOKS.register_module()
class AveragedPreciseBNHook(PreciseBNHook):
    """Estimates batch norms' statistics anew for the weights that are evaluated and saved.

    mmpretrain's hook does so for the weights that are trained. Where an EMA hook averages them,
    what is evaluated are the averages, whose activations have other statistics. The EMA hook must
    average the buffers too (``update_buffers=True``), or it replaces them.

    The images are training images, augmented but not mixed; stochastic depth is off.

    Args:
        num_samples (int): Images. Defaults to 8192.
        interval (int): Epochs between two estimates. Defaults to 1.
    """

    def before_train(self, runner: Runner) -> None:
        """Look for the EMA hook.

        Raises:
            UserError: If it does not average the buffers.
        """
        self._averages = [hook.ema_model for hook in runner.hooks if isinstance(hook, EMAHook)]
        if not all(average.update_buffers for average in self._averages):
            raise UserError('AveragedPreciseBNHook needs update_buffers=True in the EMA hook, '
                            'which otherwise evaluates with other statistics')

    def _perform_precise_bn(self, runner: Runner) -> None:
        for model in [average.module for average in self._averages] or [runner.model]:
            modes = {module: module.training for module in model.modules()}
            model.eval()
            for module in modes:
                if isinstance(module, _BatchNorm):
                    module.train()
            loader = runner.train_loop.dataloader
            # Fewer images than a batch would be none at all, and statistics of 0.
            num_samples = max(self.num_samples, loader.batch_size * runner.world_size)
            update_bn_stats(model, loader, num_samples, logger=runner.logger)
            for module, mode in modes.items():
                module.training = mode
