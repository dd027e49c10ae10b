"""Checks the installation before anything heavy is built."""

from .errors import UserError


def require_mmcv_operators() -> None:
    """Make sure that mmcv has its compiled operators, which the detectors and segmentors need.

    Raises:
        UserError: If mmcv is missing or was installed without them.
    """
    try:
        import mmcv._ext  # noqa: F401
    except ImportError as error:
        raise UserError(
            f'mmcv has no compiled operators here ({error}). It was built before torch was there, '
            'or mmcv-lite is installed. Build it against your torch:\n'
            '  pip uninstall -y mmcv mmcv-lite && pip install "setuptools<81" wheel ninja psutil\n'
            '  MMCV_WITH_OPS=1 pip install --no-build-isolation --no-cache-dir mmcv==2.1.0'
        ) from error
