"""What is shown of a swap, on narrow terminals too."""

import pytest
from mmengine import Config

from mmqtvit.cfg.read import read_config
from mmqtvit.swap import plan_swap
from mmqtvit.swap.tables import change_table, comments, summary_table
from mmqtvit.terminal import plain_console

RETINANET = 'mmdet::retinanet/retinanet_r50_fpn_1x_coco.py'
LONG = 'optim_wrapper.paramwise_cfg.custom_keys.of_a_parameter_with_a_rather_long_name'


@pytest.fixture(scope='module')
def swap():
    cfg = read_config('mmseg::mask2former/mask2former_swin-t_8xb2-160k_ade20k-512x512.py')
    plan = plan_swap(cfg, 'b1')
    return cfg, plan.apply(cfg), plan


def printed(table, width, capsys):
    console = plain_console(width=width)
    console.print(table)
    return capsys.readouterr().out


@pytest.mark.parametrize('width', [60, 80, 200])
def test_words_are_whole_or_cut_with_an_ellipsis(width, swap, capsys):
    shown = printed(summary_table(*swap), width, capsys)
    words = shown.replace('│', ' ').split()
    assert {'SwinTransformer', 'EfficientViT', 'strides', 'channels', '768', 'parameters,',
            'multiply–adds,'} <= set(words)
    changes = change_table(*swap[:2])
    shown = printed(changes, width, capsys)
    keys = [line for line in shown.splitlines()[1:] if not line.startswith(' ')]
    assert [key.strip() for key in keys] == [
        'model.decode_head.in_channels',
        'optim_wrapper.paramwise_cfg.custom_keys.position_embedding',
        'optim_wrapper.paramwise_cfg.custom_keys.kernel.constant'][:len(keys)]
    assert '    [96, 192, 384, 768] → [32, 64, 128, 256]' in shown
    assert all(len(line) <= width for line in shown.splitlines())


@pytest.mark.parametrize('width', [60, 80])
def test_what_is_longer_than_the_terminal(width, capsys):
    name = LONG.rsplit('.', 1)[1]
    before = Config(dict(optim_wrapper=dict(paramwise_cfg=dict(custom_keys={name: 1}))))
    after = Config(dict(optim_wrapper=dict(paramwise_cfg=dict(custom_keys={name: 'x' * 70}))))
    _, key, *value = printed(change_table(before, after), width, capsys).splitlines()
    assert key.strip() == (LONG if width > len(LONG) else f'{LONG[:width - 1]}…')
    assert value[0].strip().startswith('1 →') and value[-1].rstrip().endswith('…')


def test_what_is_new_replaced_or_has_dots_in_its_key(capsys):
    before = Config(dict(a={'x.y': 1}, c=[1]))
    after = Config(dict(a={'x.y': 2}, c=dict(d=1), e=None))
    lines = [line.strip() for line in printed(change_table(before, after), 80, capsys).splitlines()]
    assert lines[1:] == ['a.x.y', '1 → 2', 'c', '[1] → dict(d=1)', 'e', 'None']


def test_comments_name_both(swap):
    lines = comments('mine.py', *swap[1:])
    assert lines[0] == 'mine.py with EfficientViT b1 as backbone.'
    gone, = (line for line in lines if 'custom_keys for' in line)
    assert gone.endswith('backbone.norm, relative_position_bias_table and 15 more.')
