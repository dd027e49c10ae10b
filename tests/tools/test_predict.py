"""The command line of ``tools/predict.py``."""

import json
import sys

import pytest

from ..apis.test_images import with_bad_checksum
from ..apis.test_inference import checkpoint, config, one_thread  # noqa: F401
from .test_command_lines import TOOLS, run, status, tool


@pytest.fixture()
def model(tmp_path):
    """Arguments for the toy detector."""
    cfg = config(tmp_path, 'mmdet')
    return str(tmp_path / 'toy_mmdet.py'), checkpoint(tmp_path, cfg)


def test_from_another_folder(model, tmp_path):
    images = tmp_path / 'data/images'
    (images / 'notes.txt').touch()
    result = run(sys.executable, TOOLS / 'predict.py', *model, 'data/images', '--out', 'out',
                 '--score-thr', '0', '--device', 'cpu', cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert result.stdout.endswith('4 of 4 images predicted, see out\n')
    assert sorted(path.name for path in (tmp_path / 'out').iterdir()) == sorted(
        f'{number}.{suffix}' for number in range(4) for suffix in ('jpg', 'json'))
    record = json.loads((tmp_path / 'out/0.json').read_text())
    assert record['image'] == 'data/images/0.jpg' and record['instances']


def test_images_that_cannot_be_read(model, tmp_path, capsys):
    images = tmp_path / 'data/images'
    (images / '1.jpg').write_bytes(b'')
    with_bad_checksum(images / '2.jpg')
    assert status('predict', *model, images, '--out', tmp_path / 'out', '--device', 'cpu') == 1
    text = capsys.readouterr()
    assert '3 of 4 images predicted' in text.out
    assert f'{images}/1.jpg skipped: the file is empty\n' in text.err
    assert f'{images}/2.jpg is damaged (' in text.err
    assert not (tmp_path / 'out/1.jpg').exists() and (tmp_path / 'out/2.jpg').exists()


def test_options_of_the_config(model, tmp_path):
    tool('predict').main([*model, f'{tmp_path}/data/images/0.jpg', '--out', f'{tmp_path}/out',
                          '--device', 'cpu', '--score-thr', '0',
                          '--cfg-options', 'model.test_cfg.max_per_img=2'])
    assert len(json.loads((tmp_path / 'out/0.json').read_text())['instances']) == 2


@pytest.mark.parametrize('images, reason', [
    ('data/labels', '--out data/labels is the folder of the image data/labels/0.jpg'),
    ('nowhere', 'no such image: nowhere'), ('empty', 'no image in folder empty')])
def test_mistakes(model, tmp_path, monkeypatch, capsys, images, reason):
    monkeypatch.chdir(tmp_path)
    (tmp_path / 'empty').mkdir()
    (tmp_path / 'data/labels/0.png').rename(tmp_path / 'data/labels/0.jpg')
    assert status('predict', *model, images, '--out', 'data/labels', '--device', 'cpu') == 2
    assert reason in capsys.readouterr().err
