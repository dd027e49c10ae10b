"""Checks the installation before anything heavy is built."""

from importlib import import_module

from mmengine import Config

from ..errors import UserError

PACKAGES = {'mmdet': 'mmdet', 'mmseg': 'mmsegmentation', 'mmpretrain': 'mmpretrain'}


def require_toolbox(cfg: Config) -> None:
    """Make sure that the toolbox that a config is for can be used.

    Raises:
        UserError: If the config does not name one of the three, or if it cannot be imported.
    """
    scope = cfg.get('default_scope')
    if scope not in PACKAGES:
        raise UserError(f'the config must set default_scope to one of {", ".join(PACKAGES)}, '
                        f'got {scope!r}')
    if scope != 'mmpretrain':
        require_mmcv_operators()
    try:
        import_module(scope)
    except Exception as error:  # their version checks raise AssertionError
        raise UserError(f'the config is for {scope}, which cannot be imported: {error}\n'
                        f'It comes with: pip install {PACKAGES[scope]} ftfy regex') from error


def require_mmcv_operators() -> None:
    """Make sure that mmcv has its compiled operators, which the detectors and segmentors need.

    Raises:
        UserError: If mmcv is missing, or its operators are missing or do not fit torch.
    """
    try:
        import_module('mmcv._ext')
    except ImportError as error:
        raise UserError(
            f'mmcv has no compiled operators that work here ({error}). It was built before torch '
            'was there or for another torch, or mmcv-lite is installed. Build it against your '
            'torch:\n'
            '  pip uninstall -y mmcv mmcv-lite && pip install "setuptools<81" wheel ninja psutil\n'
            '  MMCV_WITH_OPS=1 pip install --no-build-isolation --no-cache-dir mmcv==2.1.0'
        ) from error
