"""Adds configs and tools to the wheel, where OpenMMLab's tools look for them."""

import shutil
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py


class BuildWithConfigs(build_py):
    """Copies ``configs`` and ``tools`` to ``mmqtvit/.mim``, as the OpenMMLab wheels have them."""

    def run(self) -> None:
        super().run()
        if self.editable_mode:
            return
        for folder in ('configs', 'tools'):
            shutil.copytree(
                folder,
                Path(self.build_lib, 'mmqtvit', '.mim', folder),
                ignore=shutil.ignore_patterns('__pycache__'),
                dirs_exist_ok=True)


setup(cmdclass=dict(build_py=BuildWithConfigs))
