"""Data sets without labels: one can predict on them, but not judge the predictions."""

from mmengine import Config

from ..cfg.datasets import dataset_leaves
from ..cfg.tree import as_list
from ..errors import UserError
from ..toolboxes import get_toolbox


def unlabelled(cfg: Config, split: str) -> list:
    """The keys of the data sets that bring no labels, where a metric needs some.

    Args:
        cfg (Config): A toolbox's config.
        split (str): 'val' or 'test'.
    """
    toolbox, metrics = get_toolbox(cfg.default_scope), as_list(cfg.get(f'{split}_evaluator'))
    if toolbox.keep_writing(metrics) == metrics:
        return []
    return [key for key, leaf in _leaves(cfg, split) if not toolbox.has_labels(leaf)]


def check_labels(cfg: Config) -> None:
    """Refuse a validation on images without labels, before the training that ends in it.

    Raises:
        UserError: If there is one.
    """
    if absent := unlabelled(cfg, 'val'):
        raise UserError(f'{", ".join(absent)}: no labels are loaded, and val_evaluator needs them. '
                        'Load them in its pipeline, or do without validation: --cfg-options '
                        'val_dataloader=None val_cfg=None val_evaluator=None')


def leave_out_evaluation(cfg: Config) -> list:
    """Take out the metrics that judge predictions where the test data have no labels.

    Args:
        cfg (Config): Changed in place. Metrics that write predictions stay.

    Returns:
        list[str]: A line for the log, if there are no labels.

    Raises:
        UserError: If some of the data sets have labels and some have none.
    """
    absent = unlabelled(cfg, 'test')
    if not absent:
        return []
    if len(absent) < len(_leaves(cfg, 'test')):
        raise UserError(f'no labels are loaded by {", ".join(absent)}, but by the other test data '
                        'sets: they can be tested one at a time')
    cfg.test_evaluator = get_toolbox(cfg.default_scope).keep_writing(as_list(cfg.test_evaluator))
    return ['The test data come without labels, so nothing is evaluated; --out and --show-dir keep '
            'the predictions']


def _leaves(cfg: Config, split: str) -> list:
    dataset = (cfg.get(f'{split}_dataloader') or {}).get('dataset')
    return list(dataset_leaves(dataset, f'{split}_dataloader.dataset'))
