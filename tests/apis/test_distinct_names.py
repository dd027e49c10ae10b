"""Images of equal names in several folders: nothing that is written about one replaces another."""

import json
import os
from importlib import import_module
from pathlib import Path

import pytest

from mmqtvit.apis import test as evaluate
from mmqtvit.apis.distinct_names import distinct_stems

from ..helpers.toy import write_toy
from .test_inference import checkpoint
from .test_runner import loaded


@pytest.mark.parametrize('paths, names', [
    (['all/a.jpg', 'all/b.jpg'], ['a', 'b']),
    (['all/a/x.jpg', 'all/b/x.jpg', 'all/y.jpg'], ['a_x', 'b_x', 'y']),
    (['all/a/x.jpg', 'all/b/c/x.jpg'], ['a_x', 'b_c_x']),
    (['all/x.jpg', 'all/a/x.png'], ['x', 'a_x']),
    (['all/x.jpg', 'all/x.png'], ['x', 'x_2']),
    (['all/a/x.jpg', 'all/b/x.jpg', 'other/a_x.jpg'], ['a_x_2', 'b_x', 'a_x']),
    (['a/x.jpg', '/data/b/x.jpg'], [f'{"_".join(Path.cwd().parts[1:])}_a_x', 'data_b_x']),
    ([], []),
])
def test_names(paths, names):
    assert list(distinct_stems(paths).values()) == names


def move(path, target):
    target.parent.mkdir(parents=True, exist_ok=True)
    path.rename(target)


def toy_in_folders(folder, toolbox):
    """The toy's four images as a/0, a/1, b/0 and b/1, or in the folders of their classes."""
    path = write_toy(folder, toolbox)
    data = folder / 'data'
    for number in range(4):
        kind, name = ('cat', 'dog')[number % 2], f'{"ab"[number // 2]}/{number % 2}'
        move(data / f'images/{number}.jpg', data / f'images/{name}.jpg')
        move(data / f'labels/{number}.png', data / f'labels/{name}.png')
        move(data / f'folders/{kind}/{number}.jpg', data / f'folders/{kind}/{number // 2}.jpg')
    boxes = json.loads((data / 'boxes.json').read_text())
    for image in boxes['images']:
        image['file_name'] = f'{"ab"[image["id"] // 2]}/{image["id"] % 2}.jpg'
    (data / 'boxes.json').write_text(json.dumps(boxes))
    return path


def kept(folder, suffix):
    return sorted(path.name for path in folder.rglob(f'*{suffix}'))


@pytest.mark.parametrize('toolbox, pictures', [
    ('mmseg', ['test_a_0.jpg_0.png', 'test_a_1.jpg_0.png', 'test_b_0.jpg_0.png',
               'test_b_1.jpg_0.png']),
    ('mmdet', ['a_0.jpg', 'a_1.jpg', 'b_0.jpg', 'b_1.jpg']),
    ('mmpretrain', ['cat_0.jpg_0.png', 'cat_1.jpg_0.png', 'dog_0.jpg_0.png', 'dog_1.jpg_0.png']),
])
def test_pictures_and_predictions(tmp_path, toolbox, pictures):
    path = toy_in_folders(tmp_path, toolbox)
    cfg = loaded(path, tmp_path)
    weights = checkpoint(tmp_path, cfg)
    shown, out = tmp_path / 'shown', tmp_path / ('maps' if toolbox == 'mmseg' else 'all.pkl')
    evaluate(cfg, weights, out=str(out), show_dir=str(shown))
    assert kept(shown, 'g') == pictures
    if toolbox == 'mmseg':
        assert kept(out, '.png') == ['a_0.png', 'a_1.png', 'b_0.png', 'b_1.png']


def test_names_stay_where_they_differ(tmp_path):
    cfg = loaded(write_toy(tmp_path), tmp_path)
    weights = checkpoint(tmp_path, cfg)
    evaluate(cfg, weights, out=str(tmp_path / 'maps'))
    assert kept(tmp_path / 'maps', '.png') == ['0.png', '1.png', '2.png', '3.png']


@pytest.mark.parametrize('toolbox', ['mmdet', 'mmseg', 'mmpretrain'])
def test_what_names_files_by_images_can_be_told_names(toolbox):
    """It reads ``osp.basename`` of its own module."""
    folder = Path(import_module(toolbox).__file__).parent
    users = [path for part in ('engine/hooks', 'evaluation/metrics')
             for path in (folder / part).rglob('*.py') if 'basename(' in path.read_text()]
    assert users
    for path in users:
        module = import_module('.'.join((toolbox, *path.relative_to(folder).with_suffix('').parts)))
        assert module.osp is os.path
        text = path.read_text()
        assert text.count('basename(') == text.count('osp.basename(')
