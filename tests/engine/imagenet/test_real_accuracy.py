import json

import pytest
import torch

pytest.importorskip('mmpretrain')
from mmqtvit.engine.imagenet import ReaLAccuracy  # noqa: E402
from mmqtvit.errors import UserError  # noqa: E402


@pytest.fixture
def metric(tmp_path):
    path = tmp_path / 'real.json'
    path.write_text(json.dumps([[1], [], [0, 2], [3]]))
    return ReaLAccuracy(str(path))


def sample(number, prediction):
    scores = torch.zeros(4)
    scores[prediction] = 1.
    return dict(img_path=f'val/n01440764/ILSVRC2012_val_{number:08}.JPEG', pred_score=scores)


@pytest.mark.parametrize('predictions, expected', [
    ({1: 1, 2: 0, 3: 2, 4: 3}, 100.),  # image 2 has no label, whatever is predicted
    ({1: 1, 3: 0}, 100.),  # either label of image 3 is right
    ({1: 0, 2: 2, 3: 2, 4: 3}, 100 * 2 / 3),
    ({3: 1, 4: 0}, 0.),
    ({4: 3}, 100.),
])
def test_by_hand(metric, predictions, expected):
    metric.process({}, [sample(*pair) for pair in predictions.items()])
    assert metric.evaluate(len(predictions)) == {'real/top1': pytest.approx(expected)}


def test_order_of_the_images_does_not_matter(metric):
    metric.process({}, [sample(4, 3)])
    metric.process({}, [sample(1, 1), sample(3, 1)])
    assert metric.evaluate(3) == {'real/top1': pytest.approx(200 / 3)}


def test_images_without_labels_alone(metric):
    metric.process({}, [sample(2, 0)])
    with pytest.raises(UserError, match='none of the 1 images has a label'):
        metric.evaluate(1)


@pytest.mark.parametrize('path', ['val/cat.JPEG', 'val/ILSVRC2012_val_00000000.JPEG',
                                  'val/ILSVRC2012_val_00000005.JPEG'])
def test_images_of_another_set(metric, path):
    with pytest.raises(UserError, match='number from 1 to 4'):
        metric.process({}, [dict(img_path=path, pred_score=torch.zeros(4))])


@pytest.mark.parametrize('text, message', [('{"1": [2]}', 'list of lists'), ('[1, 2]', 'list of'),
                                           ('[[1000]]', '0 to 999'), ('[[-1]]', '0 to 999'),
                                           ('[["1"]]', '0 to 999'), ('[[true]]', '0 to 999'),
                                           ('[[1], ', 'cannot be read'), (None, 'cannot be read')])
def test_other_files(tmp_path, text, message):
    path = tmp_path / 'labels.json'
    if text is not None:
        path.write_text(text)
    with pytest.raises(UserError, match=message):
        ReaLAccuracy(str(path))
