"""The sweep: which configs, what became of each, where it goes on, what it reports."""

import json
from dataclasses import asdict

import pytest

from mmqtvit.swap import sweep
from mmqtvit.swap.coverage import counts_table, coverage_report
from mmqtvit.swap.sweep import Result, list_configs, reduced, run_sweep, try_config

RETINANET = 'mmdet::retinanet/retinanet_r50_fpn_1x_coco.py'


@pytest.fixture
def wheel(tmp_path, monkeypatch):
    """An installed toolbox with two families of configs."""
    configs = tmp_path / 'mmdet/.mim/configs'
    for name in ('_base_/models/a', 'first/a', 'first/b', 'second/data', 'second/deep/model'):
        path = configs / f'{name}.py'
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f'{path.stem} = 1\n')
    (configs / 'first/metafile.yml').write_text(
        'Models: [{Config: configs/first/gone.py}, {Config: configs/first/b.py}]')
    monkeypatch.setattr(sweep, 'get_installed_path', lambda toolbox: str(tmp_path / toolbox))


@pytest.mark.usefixtures('wheel')
def test_one_config_of_each_family_or_all():
    assert list_configs('mmdet') == dict(
        first=['mmdet::first/b.py'], second=['mmdet::second/deep/model.py'])
    assert list_configs('mmdet', every=True) == dict(
        first=['mmdet::first/a.py', 'mmdet::first/b.py'],
        second=['mmdet::second/data.py', 'mmdet::second/deep/model.py'])


@pytest.mark.usefixtures('wheel')
def test_one_config_of_each_metafile_however_deep(tmp_path):
    deep = tmp_path / 'mmdet/.mim/configs/third/deep'
    deep.mkdir(parents=True)
    for name in 'abc':
        (deep / f'{name}.py').write_text('model = 1')
    for name in 'bc':
        (deep / f'{name}.yml').write_text(f'Models: [{{Config: configs/third/deep/{name}.py}}]')
    assert list_configs('mmdet')['third'] == ['mmdet::third/deep/b.py', 'mmdet::third/deep/c.py']


@pytest.mark.parametrize('config, outcome, backbone, words', [
    ('mmseg::fcn/fcn_r50-d8_4xb2-40k_cityscapes-512x1024.py', 'runs', 'ResNetV1c', ''),
    ('mmpretrain::vgg/vgg11_8xb32_in1k.py', 'refused', 'VGG', 'part of the backbone'),
    ('mmpretrain::clip/clip_vit-base-p16_zeroshot-cls_in1k.py', 'refused', '', 'text tower'),
    ('mmdet::retinanet/none.py', 'broken before', '', 'cannot be read: FileNotFoundError'),
])
def test_what_becomes_of_a_config(config, outcome, backbone, words):
    result = try_config(config, 'family', 'b0')
    assert (result.outcome, result.backbone) == (outcome, backbone)
    assert words in result.reason
    assert bool(result.reason) == (outcome != 'runs')


def test_a_bug_does_not_end_the_sweep(monkeypatch):
    def fail(*_):
        raise ZeroDivisionError('of\nmine')
    monkeypatch.setattr(sweep, 'plan_swap', fail)
    result = try_config(RETINANET, 'retinanet')
    assert (result.outcome, result.reason) == ('failed', 'ZeroDivisionError: of mine')


@pytest.mark.parametrize('size, small', [
    ((224, 224), (224, 224)), ((800, 1333), (192, 320)), ((1024, 1024), (320, 320)),
    ((20, 3200), (32, 320))])
def test_reduced(size, small):
    assert reduced(size) == small


@pytest.mark.usefixtures('wheel')
def test_goes_on_where_it_stopped(tmp_path, monkeypatch):
    tried = []

    class InThisProcess:
        def __init__(self, *_):
            pass

        def __enter__(self):
            return self

        def __exit__(self, *_):
            pass

        def submit(self, run, *args):
            tried.append(args[0])
            return args

    monkeypatch.setattr(sweep, 'ProcessPoolExecutor', InThisProcess)
    monkeypatch.setattr(sweep, 'as_completed', lambda futures: [
        type('Done', (), dict(result=lambda self, a=args: Result(a[0], a[1], 'runs', a[2])))()
        for args in futures])
    first = Result('mmdet::first/b.py', 'first', 'failed', 'qtvit1', 'ResNet', 'why')
    other_arch = Result('mmdet::second/deep/model.py', 'second', 'runs', 'b1')
    (tmp_path / 'results.jsonl').write_text(
        ''.join(json.dumps(asdict(result)) + '\n' for result in (first, other_arch)))
    results = run_sweep(['mmdet'], str(tmp_path))
    assert tried == ['mmdet::second/deep/model.py']
    assert [result.outcome for result in results] == ['failed', 'runs']
    assert (tmp_path / 'results.csv').read_text().startswith('config,family,outcome,arch')
    run_sweep(['mmdet'], str(tmp_path))
    assert len(tried) == 1
    assert run_sweep(['mmdet'], str(tmp_path), retry=True)[0].outcome == 'runs'
    assert tried[1:] == ['mmdet::first/b.py']


def test_report():
    results = [
        Result('mmdet::a/x.py', 'a', 'runs', 'qtvit1', 'ResNet', warnings='coarser'),
        Result('mmdet::b/y.py', 'b', 'refused', 'qtvit1', 'Net', 'this | that'),
        Result('mmdet::c/z.py', 'c', 'refused', 'qtvit1', '', 'none'),
        Result('mmpretrain::d/z.py', 'd', 'broken before', 'qtvit1', '', 'torn')]
    assert '| mmdet | 3 | 2 | 1 (50%) | 2 | 0 | 0 |' in counts_table(results)
    assert '| mmpretrain | 1 | 0 | 0 | 0 | 1 | 0 |' in counts_table(results)
    report = coverage_report(results, 'python sweep.py')
    assert '| a | x | ResNet | runs | coarser |' in report
    assert r'| b | y | Net | refused | this \| that |' in report
    assert '    python sweep.py\n' in report and 'mmpretrain 1.' in report
    assert report.index('## mmdet') < report.index('| c | z |') < report.index('## mmpretrain')
