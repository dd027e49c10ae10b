import pytest
from torch import nn

from mmqtvit import EfficientViT, QTViT
from mmqtvit.analysis.counting import count, describe
from mmqtvit.analysis.models import build_model
from mmqtvit.errors import UserError
from mmqtvit.layers import MultiScaleAttention

from ..helpers.archs import ARCHS
from ..helpers.toy import write_toy

#: Published, in G at 224×224.
CLASSIFIERS = {1: 0.52, 2: 1.60, 3: 3.97, 4: 5.26, 5: 6.96, 6: 27.60}


@pytest.mark.parametrize('number', CLASSIFIERS)
def test_published_counts_of_the_classifiers(root, number):
    counted = count(lambda: build_model(str(root / f'configs/qtvit{number}_imagenet.py')),
                    (224, 224))
    assert counted.total.macs == pytest.approx(CLASSIFIERS[number] * 1e9, rel=0.01)
    assert sum(part.macs for part in counted.parts) == counted.total.macs
    assert sum(part.params for part in counted.parts) == counted.total.params


@pytest.mark.parametrize('series', ARCHS)
@pytest.mark.parametrize('kind', [QTViT, EfficientViT])
@pytest.mark.parametrize('size', [(64, 64), (33, 100)])
def test_attention_agrees_with_the_hand_formula(series, kind, size):
    maps = {}

    def build():
        model = kind(ARCHS[series]).eval()
        for name, module in model.named_modules():
            if isinstance(module, MultiScaleAttention):
                module.register_forward_pre_hook(
                    lambda module, args, name=name: maps.update({module: args[0].shape[-2:]}))
        return model

    counted = count(build, size)
    by_hand = [module.kernel.macs(module.num_groups, height * width)
               for module, (height, width) in maps.items()]
    assert len(by_hand) == (4 if series == 'b' else 2)
    assert counted.total.attention_macs == sum(by_hand)
    assert [part.name for part in counted.parts] == ['stem', *(f'stages.{i}' for i in range(4))]
    assert counted.parts[0].attention_macs == counted.parts[1].attention_macs == 0


def test_inlines_local_residual_is_attention():
    shares = [count(lambda on=on: QTViT(ARCHS['b'], attention=dict(
        type='InLineAttention', local_residual=on)).eval(), (64, 64)).total for on in (True, False)]
    added = shares[0].macs - shares[1].macs
    assert shares[0].attention_macs - shares[1].attention_macs == added > 0


class SoftmaxAttention(nn.Linear):

    def forward(self, x):
        x = super().forward(x)
        return nn.functional.scaled_dot_product_attention(x, x, x)


def test_batched_products_elsewhere_are_attention():
    total = count(lambda: SoftmaxAttention(7, 7), (5, 7)).total
    assert total.attention_macs == 2 * 3 * 25 * 7
    assert total.macs == total.attention_macs + 15 * 7 * 7


def test_two_stage_detectors_and_what_is_not_counted(root, capsys):
    path = str(root / 'configs/mask_rcnn_qtvit1_coco.py')
    options = {'model.test_cfg.rpn.max_per_img': 5}
    counted = count(lambda: build_model(path, options), (64, 96), progress=True)
    assert counted.regions == [5, 5]
    assert counted.uncounted['mmcv::nms'] == 1
    assert counted.uncounted['mmcv::roi_align_forward'] > 0
    shown = describe(counted)
    assert 'RoI heads read 5, 5 regions' in shown and 'mmcv::nms (1 calls)' in shown
    assert 'roi_head.mask_head' in shown and 'backbone.stages.3' in shown
    assert 'layers' in capsys.readouterr().err


def test_parts_of_a_segmentor(tmp_path):
    counted = count(lambda: build_model(write_toy(tmp_path)), (32, 32))
    parts = {part.name: part for part in counted.parts}
    assert sum(part.macs for part in counted.parts) == counted.total.macs
    # one position: a convolution, another over its input and output, the classes
    assert parts['model.decode_head'].macs == 9 * 16 * 8 + 9 * (16 + 8) * 8 + 8 * 3
    assert not counted.uncounted and not counted.regions


def test_a_model_that_does_not_run():
    with pytest.raises(UserError, match='does not run on one image of 5×7: RuntimeError: mat1'):
        count(lambda: nn.Linear(3, 2), (5, 7))
