"""The list of models that ``mim search`` shows."""

import re

import pytest
from mmengine.fileio import load

from tests.configs.test_configs import (
    ALL_NAMES,
    build,
)


@pytest.fixture(scope='module')
def index(root):
    """Collections and models of all metafiles together."""
    parts = [load(root / path) for path in load(root / 'model-index.yml')['Import']]
    return {key: [entry for part in parts for entry in part[key]]
            for key in ('Collections', 'Models')}


@pytest.fixture(scope='module')
def models(index):
    return {model['Name']: model for model in index['Models']}


def metrics(model):
    return {key: value for result in model.get('Results', ())
            for key, value in result['Metrics'].items()}


def published(root):
    """The figures of README.md's tables by config."""
    text = (root / 'README.md').read_text()
    rows = re.findall(r'^\| `(\w+)\.py` \| (.+) \| ([\d.]+) \|$', text, re.M)
    rows += [(f'qtvit{number}_imagenet', figures, parameters) for number, figures, parameters
             in re.findall(r'^\| QT-ViT-(\d) \| (.+) \| ([\d.]+) \|$', text, re.M)]
    return {name: ([float(figure) for figure in re.findall(r'\d+\.\d', figures)], parameters)
            for name, figures, parameters in rows}


def test_lists_every_config_once(root, index):
    assert sorted(model['Name'] for model in index['Models']) == ALL_NAMES
    for model in index['Models']:
        assert model['Config'] == f'configs/{model["Name"]}.py'
        assert (root / model['Config']).is_file()


def test_every_metafile_is_imported(root):
    found = {path.relative_to(root).as_posix() for path in (root / 'configs').rglob('*.yml')}
    assert set(load(root / 'model-index.yml')['Import']) == found


def test_collections(root, index):
    names = [collection['Name'] for collection in index['Collections']]
    assert len(set(names)) == len(names)
    assert {model['In Collection'] for model in index['Models']} == set(names)
    for collection in index['Collections']:
        assert (root / collection['README']).is_file()
        assert collection['Paper']['URL'].startswith('https://')


def test_figures_are_the_published_ones(root, models):
    expected = published(root)
    assert len(expected) == 18
    for name, (figures, _) in expected.items():
        assert list(metrics(models[name]).values()) == figures, name
    for name, model in models.items():
        origin = model['Metadata'].get('Figures', '')
        if name in expected:
            assert origin.startswith('published') and origin.endswith('not reproduced here')
        elif not name.endswith('_demo'):
            assert not metrics(model) and not origin, name


def test_figures_of_the_demos(root, models):
    text = (root / 'README.md').read_text()
    for name, pattern in (('upernet_qtvit1_demo', r'([\d.]+) mIoU, ([\d.]+) pixel accuracy'),
                          ('retinanet_qtvit1_demo', r'([\d.]+) box AP50, ([\d.]+) box AP ')):
        figures = re.search(pattern, text).groups()
        assert list(metrics(models[name]).values()) == [float(figure) for figure in figures]
        assert models[name]['Metadata']['Figures'].startswith('reproduced')


def test_parameters_of_the_tables(root, models):
    for name, (_, parameters) in published(root).items():
        assert f'{models[name]["Metadata"]["Parameters"] / 1e6:.2f}' == parameters, name


@pytest.mark.parametrize('name', ALL_NAMES)
def test_parameters_are_counted(models, name):
    _, model = build(re.sub('_(imagenet)(v2|_real)$', r'_\1', name))
    count = sum(parameter.numel() for key, parameter in model.named_parameters()
                if not key.startswith('auxiliary_head'))
    assert models[name]['Metadata']['Parameters'] == count


def test_weights_are_named_nowhere(models):
    """None are published for these configs."""
    assert not any('Weights' in model for model in models.values())
