"""Images of other depths and numbers of channels: trained on, tested and predicted on."""

from functools import partial

import cv2
import numpy as np
import pytest

from mmqtvit import apis
from mmqtvit.analysis.counting import count
from mmqtvit.analysis.models import build_model
from mmqtvit.apis import load_config, train
from mmqtvit.apis.images import as_picture
from mmqtvit.apis.inference import Predictor, predict
from mmqtvit.swap import swap_backbone
from mmqtvit.swap.check import check_config
from tests.tools.test_command_lines import tool

from ..helpers.toy import write_toy

UNCHANGED = dict(type='LoadImageFromFile', color_type='unchanged')
#: By kind of image: how it is made of an ordinary one, the loading step, and its channels.
KINDS = {
    'gray': (lambda image: image[..., 0],
             dict(type='LoadImageFromFile', color_type='grayscale'), 1),
    'blue, green, red and infrared': (lambda image: np.dstack([image, image[..., :1]]),
                                      UNCHANGED, 4),
    '12 bits': (lambda image: image[..., 0].astype(np.uint16) * 16,
                dict(UNCHANGED, to_float32=True), 1),
    'colours of 16 bits': (lambda image: image.astype(np.uint16) * 256,
                           dict(UNCHANGED, to_float32=True), 3),
}


class Toy:
    """A toy config for images of a kind, and their files, made of the ordinary ones."""

    def __init__(self, folder, toolbox, kind):
        make, step, self.channels = KINDS[kind]
        self.path = write_toy(folder, toolbox)
        self.data = folder / 'data'
        images = [path for name in ('images', 'folders')
                  for path in sorted((self.data / name).rglob('*.jpg'))]
        for path in images:
            cv2.imwrite(str(path.with_suffix('.png')), make(cv2.imread(str(path))))
            path.unlink()
        records = self.data / 'boxes.json'
        records.write_text(records.read_text().replace('.jpg', '.png'))
        preprocessor = 'model.data_preprocessor'
        self.options = {
            'model.backbone.in_channels': self.channels,
            f'{preprocessor}.mean': [128.] * self.channels,
            f'{preprocessor}.std': [64.] * self.channels,
            'work_dir': str(folder / 'run'), 'experiment_name': folder.name,
            'train_cfg.max_iters': 2}
        if toolbox == 'mmdet':  # the other two leave one channel alone
            self.options[f'{preprocessor}.bgr_to_rgb'] = self.channels == 3
        for split in ('train', 'val', 'test'):
            dataset = f'{split}_dataloader.dataset'
            self.options[f'{dataset}.pipeline.0'] = step
            if toolbox == 'mmseg':
                self.options[f'{dataset}.img_suffix'] = '.png'
        self.checkpoint = str(folder / 'run/iter_2.pth')

    def load(self, **options):
        return load_config(self.path, {**self.options, **options})

    def images(self):
        return sorted((self.data / 'images').iterdir())


@pytest.mark.parametrize('toolbox, kind', [
    ('mmseg', 'gray'), ('mmdet', 'gray'), ('mmpretrain', 'gray'),
    ('mmseg', 'blue, green, red and infrared'), ('mmdet', '12 bits'), ('mmseg', '12 bits'),
    ('mmpretrain', 'colours of 16 bits')])
def test_trained_tested_and_predicted(tmp_path, toolbox, kind):
    toy = Toy(tmp_path, toolbox, kind)
    train(toy.load())
    assert apis.test(toy.load(), toy.checkpoint, show_dir=str(tmp_path / 'shown'))
    predictor, seen = Predictor(toy.load(), toy.checkpoint, 'cpu', score_thr=0.), []
    predictor.inferencer.model.data_preprocessor.register_forward_pre_hook(
        lambda module, args: seen.append(args[0]['inputs'][0]))
    assert predict(predictor, toy.images(), tmp_path / 'out') == ({}, {})
    for number in range(4):
        drawn = cv2.imread(str(tmp_path / f'out/{number}.jpg'))
        assert drawn.shape[2] == 3 and drawn.std() > 10  # neither black nor white
    image = cv2.imread(str(toy.images()[0]), cv2.IMREAD_UNCHANGED)
    assert len(seen[0]) == toy.channels
    assert seen[0].max() == pytest.approx(image.max(), rel=0.1)  # the detector's are resized


def test_values_that_are_cut_are_told(tmp_path, capsys):
    """The model is an ordinary one, to which the images of 12 bits come as 0 to 15."""
    toy = Toy(tmp_path, 'mmseg', '12 bits')
    ordinary = {f'{split}_dataloader.dataset.img_suffix': '.png' for split in ('train', 'val')}
    cfg = load_config(toy.path, {**ordinary, 'work_dir': str(tmp_path / 'run'),
                                 'train_cfg.max_iters': 2})
    train(cfg)
    tool('predict').main([toy.path, toy.checkpoint, str(toy.data / 'images'),
                          '--out', str(tmp_path / 'out'), '--device', 'cpu'])
    told = capsys.readouterr().err
    assert f'{toy.images()[0]} has more than eight bits, which the config cuts to eight: ' in told
    assert 'arrive as 0 to 14 of 255; see "Your own data" in README.md' in told


def test_counted_at_their_channels(tmp_path, capsys):
    toy = Toy(tmp_path, 'mmseg', 'gray')
    for spec in (toy.path, f'{toy.path}@backbone'):
        three, one = (count(partial(build_model, spec, options), (32, 32)).total.macs
                      for options in (None, {'model.backbone.in_channels': 1}))
        assert three - one == 2 * 8 * 9 * 16 * 16  # two channels of the stem less
    resnet = {'model.backbone': dict(_delete_=True, type='ResNet', depth=18, in_channels=1)}
    assert build_model(f'{toy.path}@backbone', resnet).in_channels == 1
    tool('analysis/get_flops').main([toy.path, '--cfg-options', 'model.backbone.in_channels=6'])
    assert 'MACs' in capsys.readouterr().out


@pytest.mark.parametrize('toolbox', ['mmseg', 'mmdet', 'mmpretrain'])
def test_swapped_and_checked_at_their_channels(tmp_path, toolbox):
    toy = Toy(tmp_path, toolbox, 'gray')
    swapped = swap_backbone(toy.load(), arch='qtvit1')
    assert swapped.model.backbone.in_channels == 1
    assert check_config(swapped, size=(64, 64)).loss > 0


@pytest.mark.parametrize('shape', [(5, 7), (5, 7, 1), (5, 7, 2), (5, 7, 3), (5, 7, 4), (5, 7, 6)])
@pytest.mark.parametrize('dtype', ['uint8', 'uint16', 'float32', 'int16'])
def test_pictures_of_any_image(shape, dtype):
    image = np.arange(np.prod(shape)).reshape(shape).astype(dtype)
    picture = as_picture(image)
    assert picture.shape == (5, 7, 3) and picture.dtype == np.uint8
    assert picture.flags['C_CONTIGUOUS']
    if len(shape) == 3 and shape[2] >= 3 and dtype == 'uint8':
        assert np.array_equal(picture, image[..., 2::-1])
    if dtype != 'uint8':
        assert (picture.min(), picture.max()) == (0, 255)


def test_pictures_of_flat_images_and_of_no_numbers():
    assert not as_picture(np.full((3, 3), 7.)).any()
    image = np.full((3, 3), np.nan)
    image[0, 0], image[1, 1] = 5., np.inf
    assert as_picture(image)[0, 0].tolist() == [255] * 3
