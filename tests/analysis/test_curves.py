import json
from pathlib import Path

import cv2
import pytest

from mmqtvit.analysis.curves import describe, plot_runs, read_run


def write_log(work_dir, start, records):
    log = work_dir / start / 'vis_data' / 'scalars.json'
    log.parent.mkdir(parents=True)
    log.write_text('\n'.join(json.dumps(record) for record in records))
    return log


SEGMENTATION = [dict(loss=2., iter=20, step=20), dict(loss=1., iter=40, step=40),
                dict(mIoU=30., step=40), dict(loss=.5, iter=60, step=60), dict(mIoU=60., step=60)]
DETECTION = [dict(loss=2., iter=50, epoch=1, step=50),
             {'coco/bbox_mAP': 0.1, 'coco/bbox_mAP_50': 0.2, 'step': 1}]


def test_reads_a_work_dir_and_a_file(tmp_path, monkeypatch):
    log = write_log(tmp_path / 'run', '20260101_000000', SEGMENTATION)
    run = read_run(tmp_path / 'run')
    assert run == ('run', [(20, 2.), (40, 1.), (60, .5)], {'mIoU': [(40, 30.), (60, 60.)]})
    assert read_run(log) == run
    monkeypatch.chdir(log.parent)
    assert read_run(Path('scalars.json')) == run


def test_a_run_that_began_anew_replaces_the_earlier_one(tmp_path):
    write_log(tmp_path / 'run', '20260101_000000', DETECTION)
    write_log(tmp_path / 'run', '20260102_000000', SEGMENTATION)
    write_log(tmp_path / 'run', '20260103_000000', [])  # stopped before its first line
    run = read_run(tmp_path / 'run')
    assert run.losses == [(20, 2.), (40, 1.), (60, .5)]
    assert run.metrics['mIoU'] == [(40, 30.), (60, 60.)]
    assert not run.metrics['coco/bbox_mAP']


def test_a_resumed_run_goes_on_where_its_checkpoint_was(tmp_path):
    write_log(tmp_path / 'run', '20260101_000000', SEGMENTATION)
    write_log(tmp_path / 'run', '20260102_000000',  # from a checkpoint of iteration 40
              [dict(loss=.6, iter=60, step=60), dict(mIoU=50., step=60)])
    run = read_run(tmp_path / 'run')
    assert run.losses == [(20, 2.), (40, 1.), (60, .6)]
    assert run.metrics == {'mIoU': [(40, 30.), (60, 50.)]}


def test_metrics_lie_at_their_iteration_between_two_lines_of_losses(tmp_path):
    write_log(tmp_path, '20260101_000000', [SEGMENTATION[0], dict(mIoU=10., step=30)])
    assert read_run(tmp_path).metrics['mIoU'] == [(30, 10.)]


def test_metrics_of_epochs_lie_at_the_iteration_before(tmp_path):
    write_log(tmp_path, '20260101_000000', DETECTION)
    assert read_run(tmp_path).metrics['coco/bbox_mAP_50'] == [(50, 0.2)]


OTHER = [dict(loss=2., lr=.1, **{'decode.acc_seg': 60.}, iter=20, step=20),
         dict(aAcc=70., mFscore=50., mPrecision=40., time=.1, data_time=.1, step=20)]
UNKNOWN = [dict(loss=2., iter=20, step=20), {'dota/mAP': .5, 'dota/AP50': .6, 'step': 20}]


@pytest.mark.parametrize(('log', 'drawn', 'others'), [
    (OTHER, 'mFscore', 'aAcc, mPrecision'), (UNKNOWN, 'dota/mAP', 'dota/AP50')])
def test_other_metrics_are_drawn_and_the_rest_is_named(tmp_path, log, drawn, others):
    write_log(tmp_path / 'run', '20260101_000000', log)
    run = read_run(tmp_path / 'run')
    assert run.best_known == drawn
    assert describe([run]) == f'run: {drawn}; not drawn: {others}'


def test_a_log_without_evaluation_is_named(tmp_path):
    write_log(tmp_path / 'run', '20260101_000000', SEGMENTATION[:1])
    assert describe([read_run(tmp_path / 'run')]) == (
        'run: the loss alone, as the log holds no evaluation')


@pytest.mark.parametrize(('logs', 'panels'), [
    ([SEGMENTATION[:1]], 1),  # before the first evaluation
    ([SEGMENTATION], 2),
    ([OTHER], 2),
    ([SEGMENTATION, SEGMENTATION[:3]], 2),
    ([SEGMENTATION, DETECTION], 3)])
def test_draws(tmp_path, logs, panels):
    for number, records in enumerate(logs):
        write_log(tmp_path / str(number), '20260101_000000', records)
    out = tmp_path / 'new' / 'curves.png'
    plot_runs([read_run(tmp_path / str(number)) for number in range(len(logs))], out)
    picture = cv2.imread(str(out))
    assert picture.shape[0] > 300 and picture.std() > 5
    assert picture.shape[1] == pytest.approx(120 * (1 + 4 * panels), abs=2)


def test_what_is_no_log(tmp_path):
    with pytest.raises(FileNotFoundError, match='is it a work dir'):
        read_run(tmp_path)
    write_log(tmp_path, '20260101_000000', [])
    with pytest.raises(ValueError, match='no training losses'):
        plot_runs([read_run(tmp_path)], tmp_path / 'out.png')
    (tmp_path / 'text.json').write_text('hello')
    with pytest.raises(ValueError, match='line 1 of .* is no JSON'):
        read_run(tmp_path / 'text.json')
