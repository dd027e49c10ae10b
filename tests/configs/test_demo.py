"""The demo configs speak of the classes that are drawn."""

import pytest

from mmqtvit.demo import CLASSES, SHAPES
from tests.configs.test_configs import load

DEMOS = {'upernet_qtvit1_demo': CLASSES, 'retinanet_qtvit1_demo': SHAPES}


@pytest.mark.parametrize('name', DEMOS)
def test_classes_are_the_drawn_ones_everywhere(name):
    cfg, classes = load(name), DEMOS[name]
    for loader in (cfg.train_dataloader, cfg.val_dataloader, cfg.test_dataloader):
        metainfo = loader.dataset.metainfo
        assert tuple(metainfo.classes) == classes
        assert len({tuple(colour) for colour in metainfo.palette}) == len(classes)
        assert loader.dataset.data_root.startswith('data/demo/')
    heads = [cfg.model[key] for key in ('decode_head', 'auxiliary_head', 'bbox_head')
             if key in cfg.model]
    assert {head.num_classes for head in heads} == {len(classes)}


def test_a_shape_has_one_colour_in_both():
    colours = [dict(zip(DEMOS[name], map(tuple, load(name).metainfo.palette))) for name in DEMOS]
    assert all(colours[0][shape] == colours[1][shape] for shape in SHAPES)
