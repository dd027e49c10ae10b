"""Adds configs, their index and tools to the wheel, where OpenMMLab's tools look for them."""

import shutil
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py


class BuildWithConfigs(build_py):
    """Copies them to ``mmqtvit/.mim``, as the OpenMMLab wheels have them."""

    def run(self) -> None:
        super().run()
        if self.editable_mode:
            return
        mim = Path(self.build_lib, 'mmqtvit', '.mim')
        for folder in ('configs', 'tools'):
            target = mim / folder
            # An earlier build may have left a config there that is no more.
            shutil.rmtree(target, ignore_errors=True)
            # setup_env.py serves a checkout only.
            shutil.copytree(
                folder, target, ignore=shutil.ignore_patterns('__pycache__', 'setup_env.*'))
        shutil.copy('model-index.yml', mim)


setup(cmdclass=dict(build_py=BuildWithConfigs))
