import csv
import json

import cv2
import pytest
import torch

from mmqtvit.analysis.machine import conditions
from mmqtvit.analysis.operators import plot_scaling
from mmqtvit.analysis.results import describe, plot_ratios, save
from mmqtvit.analysis.tables import table
from mmqtvit.analysis.timing import Measurement, Schedule
from mmqtvit.errors import UserError

CONDITIONS = conditions(torch.device('cpu'))


@pytest.fixture()
def measurements():
    labels = [{'model': model, 'size': size, 'mode': 'eager', 'dtype': 'float32', 'pass': 'forward',
               'kernel': model} for size in ('32x32', '64x64') for model in ('first', 'second')]
    return [Measurement(label, [0.001 * (number + 1), 0.003 * (number + 1)], 10**6, None)
            for number, label in enumerate(labels)]


def test_conditions():
    assert CONDITIONS['device'] == 'cpu' and CONDITIONS['threads'] == torch.get_num_threads()
    assert CONDITIONS['torch'] == torch.__version__
    assert CONDITIONS['processor'] and CONDITIONS['system']


def test_table():
    shown = table(('name', 'value'), [('a', 1.23456), ('bc', None), ('d', 12345.6)])
    assert shown.splitlines() == [
        '| name | value |', '|------|-------|', '| a    | 1.235 |', '| bc   |       |',
        '| d    | 12346 |']


def test_wide_tables_and_brackets_stay_whole():
    assert 'x' * 300 in table(('name', ), [('x' * 300, )])
    assert '[bold]' in table(('name', ), [('[bold]', )])


def test_description(measurements):
    shown = describe(measurements, Schedule(2, 5), dict(CONDITIONS, batch=3), ['size'])
    for part in ('threads', 'batch 3', '2 warm-up calls, up to 5', 'torch', 'device cpu'):
        assert part in shown
    row = next(line for line in shown.splitlines() if 'second' in line and '32x32' in line)
    assert [cell.strip() for cell in row.split('|')][7:12] == [
        '4', '3 to 5', '2', '2', '1']  # median, quartiles, calls, ratio, peak
    assert 'kept for backward' not in shown


def test_files(measurements, tmp_path):
    save(measurements, Schedule(), CONDITIONS, tmp_path / 'new' / 'out.json')
    content = json.loads((tmp_path / 'new' / 'out.json').read_text())
    assert content['conditions'] == CONDITIONS and content['schedule']['repeats'] == 20
    assert content['results'][1]['times_s'] == [0.002, 0.006]
    save(measurements, Schedule(), CONDITIONS, tmp_path / 'out.csv')
    with open(tmp_path / 'out.csv') as file:
        rows = list(csv.DictReader(file))
    assert [float(row['median_s']) for row in rows] == pytest.approx([.002, .004, .006, .008])
    assert rows[0]['kept_bytes'] == '' and rows[0]['repeats'] == '2'


def test_pictures(measurements, tmp_path):
    plot_ratios(measurements, CONDITIONS, tmp_path / 'ratios.png')
    plot_scaling(measurements, 'title', tmp_path / 'scaling.png')
    for name in ('ratios', 'scaling'):
        picture = cv2.imread(str(tmp_path / f'{name}.png'))
        assert picture.shape[0] > 300 and picture.std() > 5


def test_what_cannot_be_written(measurements, tmp_path):
    (tmp_path / 'file').touch()
    for write in (lambda path: save(measurements, Schedule(), CONDITIONS, path / 'out.json'),
                  lambda path: plot_ratios(measurements, CONDITIONS, path / 'out.png')):
        with pytest.raises(UserError, match='cannot write'):
            write(tmp_path / 'file')
    with pytest.raises(UserError, match='cannot write .*out.txt'):
        plot_ratios(measurements, CONDITIONS, tmp_path / 'out.txt')
