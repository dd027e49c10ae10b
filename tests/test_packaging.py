"""What the wheel carries, and what the requirements declare."""

import ast
import importlib.metadata
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile

import pytest
from mmengine import Config

BUILD = 'import sys; from setuptools import build_meta; build_meta.build_{}(sys.argv[1])'


def build(kind, source, out):
    subprocess.run([sys.executable, '-c', BUILD.format(kind), out], cwd=source, check=True,
                   capture_output=True)
    return next(out.glob('*.tar.gz' if kind == 'sdist' else '*.whl'))


@pytest.fixture(scope='module')
def wheel(root, tmp_path_factory):
    """The wheel, unpacked, built from the source archive of a copy of the checkout."""
    folder = tmp_path_factory.mktemp('wheel')
    source = shutil.copytree(root, folder / 'source', ignore=shutil.ignore_patterns(
        '.*', 'work_dirs', 'data', 'build', 'tests', '*.egg-info', '__pycache__'))
    with tarfile.open(build('sdist', source, folder)) as archive:
        archive.extractall(folder / 'sdist', filter='data')
    packed = build('wheel', next((folder / 'sdist').iterdir()), folder)
    with zipfile.ZipFile(packed) as archive:
        archive.extractall(folder / 'unpacked')
    return folder / 'unpacked'


def files(folder, pattern):
    return {path.relative_to(folder).as_posix() for path in folder.rglob(pattern) if path.is_file()}


def test_wheel_carries_the_package(root, wheel):
    assert files(wheel / 'mmqtvit', '*.py') >= files(root / 'mmqtvit', '*.py')


def test_wheel_carries_configs_and_tools(root, wheel):
    mim = wheel / 'mmqtvit' / '.mim'
    assert files(mim / 'configs', '*') == files(root / 'configs', '*') - {'__pycache__'}
    wanted = files(root / 'tools', '*.py') | files(root / 'tools', '*.sh')
    assert files(mim / 'tools', '*') == {name for name in wanted if 'setup_env' not in name}


def test_wheel_carries_the_index_of_models(root, wheel):
    index = wheel / 'mmqtvit' / '.mim' / 'model-index.yml'
    assert index.read_text() == (root / 'model-index.yml').read_text()


def test_config_of_the_wheel_loads(wheel):
    cfg = Config.fromfile(wheel / 'mmqtvit' / '.mim' / 'configs' / 'upernet_qtvit1_ade20k_80k.py')
    assert cfg.model.backbone.type == 'mmqtvit.QTViT'


def test_wheel_asks_for_no_toolbox(wheel):
    metadata = next(wheel.glob('*.dist-info')) / 'METADATA'
    needed = [line for line in metadata.read_text().splitlines()
              if line.startswith('Requires-Dist') and 'extra ==' not in line]
    names = {re.match(r'Requires-Dist: ([\w-]+)', line)[1] for line in needed}
    assert names == {'torch', 'mmengine'}


EXTRA = 'requirements-pose.txt'


def requirements(root, name='requirements.txt'):
    lines = (root / name).read_text().splitlines()
    return [line for line in lines if line and not line.startswith('#')]


@pytest.mark.parametrize('name', ['requirements.txt', EXTRA])
def test_requirements_are_pinned_with_a_reason(root, name):
    for line in requirements(root, name):
        assert re.fullmatch(r'[\w-]+==\S+ +# \S.*', line), line


def test_what_mmsegmentation_forgets_is_declared(root):
    names = {line.split('==')[0] for line in requirements(root)}
    assert {'ftfy', 'regex'} <= names
    assert {'ftfy', 'regex'} <= {
        re.match(r'[\w-]+', line)[0] for line in importlib.metadata.requires('mmqtvit')}


def test_every_import_is_declared(root):
    """No other package is forgotten in the same way."""
    providers = importlib.metadata.packages_distributions()
    declared = {re.sub('[-_.]+', '-', line.split('==')[0]).lower() for line in requirements(root)}
    extra = {line.split('==')[0] for line in requirements(root, EXTRA)}  # may not be installed
    known = set(sys.stdlib_module_names) | {'mmqtvit', 'tests'}
    for folder in ('mmqtvit', 'tools', 'tests', 'configs'):
        for path in (root / folder).rglob('*.py'):
            for module in imported(path) - known - extra:
                names = {re.sub('[-_.]+', '-', name).lower() for name in providers.get(module, ())}
                assert names & declared, f'{path} imports {module}, which is not declared'


def imported(path):
    """Top-level names of the modules that a file imports."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding='utf-8'))):
        if isinstance(node, ast.Import):
            names |= {alias.name.split('.')[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level:
            names.add(node.module.split('.')[0])
    return names
