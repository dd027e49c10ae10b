"""What the toolboxes' own hooks draw in a test."""

from collections.abc import Sequence
from typing import Optional

from mmengine.hooks import Hook
from mmengine.runner import Runner

from ..toolboxes import Toolbox


class PrepareDrawing(Hook):
    """Has the visualiser draw names of classes that it can show, and draw in little time.

    Args:
        toolbox (Toolbox): Whose visualiser it is.
    """

    def __init__(self, toolbox: Toolbox) -> None:
        self.toolbox = toolbox

    def before_run(self, runner: Runner) -> None:
        """Exchange the names of the data set, which the visualiser has by now."""
        self.toolbox.hasten_drawing(runner.visualizer)
        meta = getattr(runner.visualizer, 'dataset_meta', None) or {}
        if meta.get('classes'):
            names, note = self.toolbox.drawable_names(meta['classes'])
            runner.visualizer.dataset_meta = {**meta, 'classes': names}
            if note:
                runner.logger.warning(note)


class ShowFirstView(Hook):
    """Lets hooks that draw the images of a batch draw the first view of each, as it was loaded."""

    priority = 'HIGH'  # before they draw

    def after_test_iter(self, runner: Runner, batch_idx: int, data_batch: dict,
                        outputs: Optional[Sequence] = None) -> None:
        """Put the first views in the place of all, where each view has a batch of its own."""
        if getattr(data_batch['inputs'][0], 'ndim', 0) == 4:
            data_batch['inputs'] = data_batch['inputs'][0]
