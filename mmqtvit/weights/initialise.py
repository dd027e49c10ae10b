"""What ``init_cfg=dict(type='Pretrained', checkpoint=…)`` does for our backbones."""

import logging

from mmengine.logging import print_log
from mmengine.model import BaseModule, PretrainedInit, initialize

from ..errors import UserError
from .load import below, load_weights, unwrap
from .read import read_checkpoint


def initialise_pretrained(module: BaseModule) -> bool:
    """Initialise a backbone whose ``init_cfg`` names pretrained weights.

    mmengine's own way would match names as they are, and go on when none does.

    Args:
        module (BaseModule): The backbone. Other entries of its ``init_cfg`` come first, so that
            they are left in what the file lacks.

    Returns:
        bool: Whether ``init_cfg`` names such weights; if not, nothing is done.

    Raises:
        UserError: If the file cannot be read or does not fit, or an argument is unknown.
    """
    cfgs = [module.init_cfg] if isinstance(module.init_cfg, dict) else module.init_cfg
    pretrained = [cfg for cfg in cfgs if cfg['type'] in ('Pretrained', PretrainedInit)]
    if not pretrained:
        return False
    initialize(module, [cfg for cfg in cfgs if cfg not in pretrained])
    for cfg in pretrained:
        _load(module, cfg)
    return True


def _load(module: BaseModule, cfg: dict) -> None:
    source, prefix = cfg.get('checkpoint'), cfg.get('prefix') or ''
    unknown = set(cfg) - {'type', 'checkpoint', 'prefix', 'map_location'}
    if unknown or not isinstance(source, str):
        raise UserError('init_cfg of type Pretrained takes checkpoint, a file or an address, '
                        f'and, where wanted, prefix and map_location; got {dict(cfg)}')
    checkpoint = read_checkpoint(source)
    try:
        report = load_weights(module, below(unwrap(checkpoint), prefix))
    except UserError as error:
        raise UserError(f'{source}: {error}') from error
    print_log(
        f'{type(module).__name__} from {source}: {report}',
        logger='current',
        level=logging.WARNING if report.missing or report.misshaped else logging.INFO)
