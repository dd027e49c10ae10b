"""Trainings of several kernels and seeds, by a stand-in for tools/train.py."""

import json
import sys

import pytest

from mmqtvit.analysis.trials import Result, describe, plan, read_result, run
from mmqtvit.errors import UserError

from ..helpers.toy import write_toy
from ..tools.test_command_lines import status, tool

KERNELS = ['ReLULinear', 'CompactQuadraticTaylor:beta=None']
TRAIN = """
import json, sys
from pathlib import Path
words = sys.argv[1:]
work_dir = Path(words[words.index('--work-dir') + 1])
calls = work_dir.parent / 'calls.txt'
if 'FAIL' in words[0] and calls.is_file():
    sys.exit('no more')
calls.open('a').write(work_dir.name + ' ' + ' '.join(words[5:]) + chr(10))
seed = int(words[5].split('=')[1])
log = work_dir / '20261201_000000' / 'vis_data' / 'scalars.json'
log.parent.mkdir(parents=True)
log.write_text(json.dumps(dict(loss=2., step=1)) + chr(10)
               + json.dumps(dict(mIoU=30. + seed + 2 * ('ReLU' in words[6]), step=1)) + chr(10))
"""


def planned(folder, name='config.py', options=(), seeds=(3, 5)):
    (folder / 'train.py').write_text(TRAIN)
    (folder / name).write_text((folder / 'toy_mmseg.py').read_text())
    return plan([sys.executable, str(folder / 'train.py')], str(folder / name), KERNELS, seeds,
                folder / 'runs', options)


@pytest.fixture
def folder(tmp_path):
    write_toy(tmp_path)
    return tmp_path


def test_every_kernel_with_one_seed_comes_before_the_next_seed(folder):
    trials = planned(folder)
    assert [(trial.kernel, trial.seed) for trial in trials] == [
        (kernel, seed) for seed in (3, 5) for kernel in KERNELS]
    assert trials[1].command[3:] == [
        '--resume', '--work-dir', str(folder / 'runs/CompactQuadraticTaylor-beta=None-seed3'),
        '--cfg-options', 'randomness.seed=3',
        'model.backbone.attention.type=CompactQuadraticTaylor',
        'model.backbone.attention.beta=None']


def test_options_of_options():
    from mmqtvit.analysis.trials import _pairs
    assert list(_pairs('a', dict(type='X', rest=dict(threshold=0.1)))) == [
        'a.type=X', 'a.rest.threshold=0.1']


def test_what_is_done_is_not_done_again(folder, capsys):
    trials = planned(folder)
    run(trials[:3])
    run(trials)
    calls = (folder / 'runs/calls.txt').read_text().splitlines()
    assert [call.split()[0] for call in calls] == [trial.work_dir.name for trial in trials]
    assert '4/4' in capsys.readouterr().err
    results = [read_result(trial) for trial in trials]
    assert [result.value for result in results] == [35., 33., 37., 35.]
    assert {(result.metric, result.loss) for result in results} == {('mIoU', 2.)}


def test_another_budget_is_not_mixed_with_this_one(folder):
    run(planned(folder, seeds=[3]))
    options = ['train_cfg.max_iters=8', 'train_cfg.val_interval=8']
    with pytest.raises(UserError, match='seed3 was trained with other options'):
        run(planned(folder, options=options, seeds=[3]))


def test_a_training_that_fails(folder):
    with pytest.raises(UserError, match='(?s)ended with status 1:.*no more'):
        run(planned(folder, 'FAIL.py'))
    assert len(list((folder / 'runs').glob('*/done.txt'))) == 1


def test_no_evaluation(folder):
    trial = planned(folder)[0]
    with pytest.raises(UserError, match='is it a work dir'):
        read_result(trial)
    log = trial.work_dir / '20261201_000000/vis_data/scalars.json'
    log.parent.mkdir(parents=True)
    log.write_text(json.dumps(dict(loss=2., step=1)))
    with pytest.raises(UserError, match='hold no evaluation'):
        read_result(trial)


def test_table():
    values = {'ReLULinear': (30., 32., 34.), 'MeanLinear': (31., 34., 37.)}
    table = describe([Result(kernel, seed, 'mIoU', value, 0.5)
                      for kernel in values for seed, value in enumerate(values[kernel])])
    header, _, *rows = [[cell.strip() for cell in line.split('|')[1:-1]]
                        for line in table.splitlines()]
    assert header[:4] == ['kernel', 'seeds', 'mIoU', 'spread']
    assert rows == [['MeanLinear', '3', '34', '3', '31', '37', '2', '1', '0.5'],
                    ['ReLULinear', '3', '32', '2', '30', '34', '0', '0', '0.5']]
    row = describe([Result('MeanLinear', 0, 'mIoU', 31., 0.5)]).splitlines()[-1]
    assert [cell.strip() for cell in row.split('|')[3:9]] == ['31', '', '31', '31', '0', '']


def test_wrong_kernels(folder, capsys):
    config = folder / 'toy_mmseg.py'
    for kernel, message in (('ReLU', "no kernel 'ReLU'"), ('ReLULinear:p=2', "no option 'p'"),
                            ('PoolingQuadraticTaylor:pool=3', 'one of [1, 2, 4, 8], got 3')):
        assert status('analysis/train_kernels', config, 'MeanLinear', kernel) == 2
        assert message in capsys.readouterr().err


def test_real_trainings(folder, capsys, monkeypatch):
    monkeypatch.chdir(folder)
    monkeypatch.setenv('OMP_NUM_THREADS', '1')
    arguments = ['toy_mmseg.py', 'MeanLinear', '--seeds', '7', '--out', 'runs/results.csv',
                 '--cfg-options', 'train_cfg.max_iters=2', 'train_cfg.val_interval=2']
    tool('analysis/train_kernels').main(arguments)
    assert '| MeanLinear ' in capsys.readouterr().out
    header, row = (folder / 'runs/results.csv').read_text().splitlines()
    assert header == 'kernel,seed,metric,value,loss' and row.startswith('MeanLinear,7,mIoU,')
    assert (folder / 'work_dirs/kernels/MeanLinear-seed7/done.txt').is_file()
