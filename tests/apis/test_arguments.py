import os
from argparse import ArgumentParser

import pytest

from mmqtvit.apis.arguments import add_common_arguments, parse


@pytest.fixture()
def parser(monkeypatch):
    monkeypatch.setenv('LOCAL_RANK', '')  # so that it is put back afterwards
    monkeypatch.delenv('LOCAL_RANK')
    parser = ArgumentParser(prog='train.py')
    add_common_arguments(parser)
    return parser


def test_values(parser):
    args = parse(parser, ['--cfg-options', 'a.b=[1,2]', 'c=(x,0.5)', 'd=None', '--local-rank', '3'])
    assert args.cfg_options == {'a.b': [1, 2], 'c': ('x', 0.5), 'd': None}
    assert os.environ['LOCAL_RANK'] == '3'


@pytest.mark.parametrize('text, value', [
    ("dict(mode='whole')", dict(mode='whole')), ('{mode:whole}', dict(mode='whole')),
    ("{'mode': 'whole', 'x': 1e-3}", dict(mode='whole', x=1e-3)),
    ("dict(mode='slide',crop_size=(64,64))", dict(mode='slide', crop_size=(64, 64))),
    ('dict(type=mmqtvit.QTViT,with_cp=true,init_cfg=None)',
     dict(type='mmqtvit.QTViT', with_cp=True, init_cfg=None)),
    ("[dict(type='A'),{'type':'B'}]", [dict(type='A'), dict(type='B')]),
    ('{:06d}.jpg', '{:06d}.jpg'), ('{}', {})])
def test_dicts(parser, text, value):
    assert parse(parser, ['--cfg-options', f'a.b={text}']).cfg_options == {'a.b': value}


@pytest.mark.parametrize('pair', [
    'a', '=1', 'a..b=1', '.a=1', 'a=[1,2', 'a=1)', 'a=dict(b=1,2)', 'a={b}', 'a={b:1', 'a=(,))((',
    'a=f(x,(1,2))', 'a=dict(**b)'])
def test_malformed_option(parser, capsys, pair):
    with pytest.raises(SystemExit) as exit_:
        parse(parser, ['--cfg-options', 'x=1', pair])
    assert exit_.value.code == 2
    assert repr(pair) in capsys.readouterr().err


def test_unknown_launcher(parser, capsys):
    with pytest.raises(SystemExit):
        parse(parser, ['--launcher', 'ssh'])
    assert 'pytorch' in capsys.readouterr().err
