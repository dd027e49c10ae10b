"""Predictions on images with random weights, compared with what the inferencers say of files."""

import json
from pathlib import Path

import cv2
import numpy as np
import pytest
import torch
from mmcv.transforms import LoadImageFromFile
from mmengine.registry import MODELS, init_default_scope
from mmengine.structures import BaseDataElement, InstanceData
from pycocotools import mask as coco_mask

from mmqtvit.apis import UserError, load_config
from mmqtvit.apis.inference import Predictor, output_stems, predict
from mmqtvit.toolboxes import get_toolbox
from mmqtvit.weights import LAYOUTS
from tests.helpers.imagenet import ROOT, small

from ..helpers.toy import write_toy
from .test_images import with_bad_checksum, written

TOOLBOXES = ('mmseg', 'mmdet', 'mmpretrain')


@pytest.fixture(autouse=True)
def one_thread():
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # faster for so little work, and for what runs beside it
    yield
    torch.set_num_threads(threads)


def config(folder, toolbox, **options):
    """A small model's config; that of the classifier is a shipped one."""
    if toolbox == 'mmpretrain':
        path = str(ROOT / 'configs/qtvit1_imagenet.py')
        return small(load_config(path, options), str(folder))
    path = folder / f'toy_{toolbox}.py'
    if not path.exists():
        write_toy(folder, toolbox)
    if toolbox == 'mmseg':  # from finer maps, so that several classes are seen
        options = {'model.decode_head.in_index': 0, 'model.decode_head.in_channels': 8, **options}
    return load_config(str(path), options)


def checkpoint(folder, cfg, meta=None, rename=str):
    """Random weights as training writes them."""
    init_default_scope(cfg.default_scope)
    torch.manual_seed(0)
    cfg = cfg.copy()
    if 'data_preprocessor' in cfg:
        cfg.model.setdefault('data_preprocessor', cfg.data_preprocessor)
    text = json.dumps(cfg.model.to_dict()).replace('SyncBN', 'BN')
    model = MODELS.build(json.loads(text))
    for parameter in model.parameters():  # far from each other, or all classes score the same
        if parameter.dim() > 1:
            torch.nn.init.normal_(parameter, std=0.5 if cfg.default_scope == 'mmseg' else 0.2)
    path = str(folder / 'weights.pth')
    state_dict = {rename(key): value for key, value in model.state_dict().items()}
    torch.save(dict(state_dict=state_dict, meta=meta or {}), path)
    return path


@pytest.fixture(params=TOOLBOXES)
def toolbox(request):
    return request.param


@pytest.fixture()
def build(tmp_path):

    def build(toolbox, meta=None, rename=str, score_thr=0., **options):
        cfg = config(tmp_path, toolbox, **options)
        return Predictor(cfg, checkpoint(tmp_path, cfg, meta, rename), 'cpu', score_thr)
    return build


def picture(height=40, width=56):
    """Of three colours that differ between the channels: (H, W, 3), BGR."""
    image = np.zeros((height, width, 3), np.uint8)
    image[:, :width // 2], image[:height // 2, width // 2:] = (250, 120, 10), (20, 230, 90)
    return image


def test_what_comes_of_an_image(build, toolbox):
    drawn, record, labels = build(toolbox)(picture())
    assert drawn.dtype == np.uint8 and drawn.shape[2] == 3
    assert json.loads(json.dumps(record)) == record
    assert (record['height'], record['width']) == (40, 56)
    assert (labels is not None) == (toolbox == 'mmseg')
    if toolbox != 'mmpretrain':  # whose text may need a larger one
        assert drawn.shape == (40, 56, 3)
    assert not np.array_equal(drawn, picture()[..., ::-1])


def test_the_same_as_of_a_file(build, toolbox, tmp_path):
    """Colours are in the order that the model was trained with, in every toolbox."""
    predictor, path = build(toolbox), str(tmp_path / 'a.png')
    cv2.imwrite(path, picture())
    _, record, labels = predictor(picture())
    inferencer = predictor.inferencer
    if toolbox == 'mmpretrain':
        of_file = inferencer(path)[0]['pred_scores']
        for entry in record['classes']:
            assert of_file[entry['label']] == pytest.approx(entry['score'])
    elif toolbox == 'mmseg':
        assert np.array_equal(inferencer(path)['predictions'], labels)
        assert len(np.unique(labels)) > 1
    else:
        of_file = inferencer(path, return_datasamples=True)['predictions'][0].pred_instances
        assert [entry['score'] for entry in record['instances']] == pytest.approx(
            of_file.scores.tolist())
        assert len(of_file) > 0
    _, swapped, _ = predictor(np.ascontiguousarray(picture()[..., ::-1]))
    assert swapped != record


def test_segments(build):
    _, record, labels = build('mmseg')(picture())
    assert labels.shape == (40, 56)
    fractions = [entry['fraction'] for entry in record['classes']]
    assert sum(fractions) == pytest.approx(1) and fractions == sorted(fractions, reverse=True)
    for entry in record['classes']:
        assert entry['name'] == ('sky', 'sea', 'land')[entry['label']]
        assert entry['fraction'] == pytest.approx((labels == entry['label']).mean())


def test_instances(build):
    _, record, _ = build('mmdet')(picture())
    scores = [entry['score'] for entry in record['instances']]
    assert 0 < len(scores) <= 5
    for entry in record['instances']:
        assert entry['name'] == ('disc', 'box')[entry['label']]
        x1, y1, x2, y2 = entry['bbox']
        assert 0 <= x1 <= x2 <= 56 and 0 <= y1 <= y2 <= 40
    between = (scores[0] + scores[-1]) / 2
    assert scores[0] > scores[-1]
    _, record, _ = build('mmdet', score_thr=between)(picture())
    assert [entry['score'] for entry in record['instances']] == pytest.approx(
        [score for score in scores if score > between])


def test_masks(build):
    """In COCO's run lengths, as JSON can hold them."""
    mask = torch.zeros(1, 40, 56, dtype=torch.bool)
    mask[:, 5:9, 7:30] = True
    found = InstanceData(bboxes=torch.tensor([[7., 5., 30., 9.]]), labels=torch.tensor([1]),
                         scores=torch.tensor([.9]), masks=mask)
    sample = BaseDataElement(pred_instances=found)
    predictor = build('mmdet')
    drawn, record, _ = predictor.toolbox.describe(
        predictor.inferencer, picture()[..., ::-1].copy(), sample, predictor.classes, 0.3)
    kept = json.loads(json.dumps(record))['instances'][0]['mask']
    assert np.array_equal(coco_mask.decode(kept), mask[0].numpy())
    assert not np.array_equal(drawn[6, 20], picture()[6, 20, ::-1])


def test_scores(build):
    _, record, _ = build('mmpretrain')(picture())
    scores = [entry['score'] for entry in record['classes']]
    assert len(scores) == 5 and scores == sorted(scores, reverse=True) and sum(scores) <= 1 + 1e-6


def test_names_are_those_of_the_training(build, toolbox):
    names = [f'class {label}' for label in range(12)]
    palette = [[label, 0, 0] for label in range(12)]
    predictor = build(toolbox, meta=dict(dataset_meta=dict(CLASSES=names, PALETTE=palette)))
    _, record, _ = predictor(picture())
    entries = record.get('classes') or record['instances']
    assert all(entry['name'] == f'class {entry["label"]}' for entry in entries)


@pytest.mark.parametrize('meta', ['text', dict(dataset_meta='text'), dict(
    dataset_meta=dict(classes=('sky', 'sea', 'land'), palette=[[1, 2, 3]]))])
def test_meta_of_other_kinds(build, meta):
    assert build('mmseg', meta).classes == ('sky', 'sea', 'land')


def test_fewer_names_than_classes(build):
    with pytest.raises(UserError, match='names 2 classes, the model of the config has 3'):
        build('mmseg', dict(dataset_meta=dict(classes=('sky', 'sea'))))


def test_palette_of_lists(build):
    predictor = build('mmdet', dict(dataset_meta=dict(classes=('disc', 'box'),
                                                      palette=[[250, 0, 0], [0, 250, 0]])))
    assert predictor(picture())[1]['instances']


@pytest.mark.parametrize('layout', [layout for layout in LAYOUTS if layout != 'mmqtvit'])
def test_published_layouts(build, layout):
    own = build('mmpretrain')(picture())[1]
    assert build('mmpretrain', rename=lambda key: LAYOUTS[layout](key, 'b'))(picture())[1] == own


@pytest.mark.parametrize('shape', [(1, 7), (3, 200), (64, 5)])
def test_odd_sizes(build, toolbox, shape):
    _, record, _ = build(toolbox)(picture(*shape))
    assert (record['height'], record['width']) == shape


def test_mistakes(build, tmp_path):
    cfg = config(tmp_path, 'mmseg')
    weights = checkpoint(tmp_path, cfg)
    with pytest.raises(UserError, match='missing.pth is not there'):
        Predictor(cfg.copy(), str(tmp_path / 'missing.pth'))
    with pytest.raises(UserError, match='--device cuda:99 cannot be used'):
        Predictor(cfg.copy(), weights, 'cuda:99')
    with pytest.raises(UserError, match='no key of the checkpoint'):
        torch.save(dict(state_dict=dict(a=torch.zeros(1))), tmp_path / 'other.pth')
        Predictor(cfg.copy(), str(tmp_path / 'other.pth'), 'cpu')
    with pytest.raises(UserError, match='test_dataloader.dataset.pipeline'):
        build('mmseg', **{'test_dataloader': None})
    with pytest.raises(UserError, match='must have the step LoadImageFromFile, it has Pack'):
        build('mmseg', **{'test_dataloader.dataset.pipeline': [dict(type='PackSegInputs')]})


@pytest.mark.parametrize('toolbox, wanted', [('mmdet', 'instances'), ('mmseg', 'classes')])
def test_models_that_predict_something_else(toolbox, wanted):
    sample = BaseDataElement(pred_depth_map=1)
    with pytest.raises(UserError, match=f'predicts no {wanted} but pred_depth_map'):
        get_toolbox(toolbox).describe(None, picture(), sample, None, 0.3)


class Answering:
    """In place of a predictor: returns what a function says of an image."""

    load = LoadImageFromFile()

    def __init__(self, answer):
        self.answer = answer

    def __call__(self, image):
        return self.answer(image)


class TestFiles:

    @pytest.fixture()
    def images(self, tmp_path):
        paths = [tmp_path / name for name in ('a/x.png', 'b/x.jpg', 'b/text.jpg', 'b/bad.png')]
        for path in paths:
            path.parent.mkdir(exist_ok=True)
            written(path)
        paths[2].write_bytes(b'hello')
        with_bad_checksum(paths[3])
        return paths

    def test_what_is_written(self, build, images, tmp_path):
        out = tmp_path / 'new/out'
        skipped, damaged = predict(build('mmseg'), images, out)
        assert skipped == {images[2]: 'it is no image, or of an unknown format'}
        assert damaged.keys() == {images[3]}
        assert sorted(path.name for path in out.iterdir()) == sorted(
            f'{stem}{ending}' for stem in ('a_x', 'b_x', 'bad')
            for ending in ('.jpg', '.json', '_labels.png'))
        record = json.loads((out / 'b_x.json').read_text())
        assert record['image'] == str(images[1]) and record['label_map'] == 'b_x_labels.png'
        labels = cv2.imread(str(out / 'b_x_labels.png'), cv2.IMREAD_UNCHANGED)
        assert labels.shape == (24, 32)
        assert set(np.unique(labels)) == {entry['label'] for entry in record['classes']}
        assert cv2.imread(str(out / 'a_x.jpg')).shape == (24, 32, 3)

    def test_many_classes_take_sixteen_bits(self, images, tmp_path):
        predict(Answering(lambda image: (image, {}, np.full((4, 4), 300))), images[:1],
                tmp_path / 'out')
        labels = cv2.imread(str(tmp_path / 'out/x_labels.png'), cv2.IMREAD_UNCHANGED)
        assert labels.dtype == np.uint16 and (labels == 300).all()

    def test_nothing_is_written_beside_the_images(self, images):
        with pytest.raises(UserError, match='is the folder of the image .*b/x.jpg'):
            output_stems(images, images[1].parent)
        with pytest.raises(UserError, match='--out in is the folder of the image in/x.png'):
            output_stems([Path('in/x.png')], 'in')
        assert output_stems([Path('in/x.png')], 'in/out') == [Path('in/out/x')]

    def test_images_on_which_the_model_fails(self, images, tmp_path):
        results = iter([RuntimeError('larger than input\nat some place'), (16, 16), (16, 16)])

        def model(image):
            result = next(results)
            if isinstance(result, Exception):
                raise result
            return np.zeros((*result, 3), np.uint8), {}, None

        skipped, _ = predict(Answering(model), images, tmp_path / 'out')
        assert skipped[images[0]] == 'RuntimeError: larger than input'
        assert sorted(path.stem for path in (tmp_path / 'out').glob('*.json')) == ['b_x', 'bad']
        results = iter([(1, 65536), (16, 16)])
        skipped, _ = predict(Answering(model), images[:2], tmp_path / 'out')
        assert skipped == {images[0]: 'ValueError: 65536×1 pixels cannot be written as .jpg'}
        results = iter([ValueError('no')] * 2)
        with pytest.raises(UserError, match='fails on every image: ValueError: no'):
            predict(Answering(model), images[:2], tmp_path / 'out')

    def test_folder_that_cannot_be_written(self, images, tmp_path):
        (tmp_path / 'file').touch()
        with pytest.raises(UserError, match='cannot write into .*file'):
            predict(Answering(lambda image: (image, {}, None)), images[:1], tmp_path / 'file')
