"""Data sets with one thing wrong each, looked through as ``tools/check_dataset.py`` does."""

import json
import re
from pathlib import Path

import cv2
import numpy as np
import pytest
from mmengine import Config
from PIL import Image

from mmqtvit.apis import UserError, load_config
from mmqtvit.apis.check_dataset import Examination, Finding, examine, print_report
from tests.helpers.imagenet import NUM_CLASSES, ROOT, write_imagenet
from tests.tools.test_command_lines import status, tool

from ..helpers.toy import write_toy
from .test_images import cut_short, with_bad_checksum

LEAF = 'train_dataloader.dataset'


class Toy:
    """A config with its files, and what looking through its training data says."""

    def __init__(self, folder, toolbox):
        self.path, self.data = write_toy(folder, toolbox), folder / 'data'

    def look(self, workers=0, splits=('train', ), **options):
        options = {key.replace('__', '.'): value for key, value in options.items()}
        return examine(load_config(self.path, options), splits, workers)

    def findings(self, **options):
        return {finding.kind: finding for one in self.look(**options) for finding in one.findings}

    def change_records(self, change):
        path = self.data / 'boxes.json'
        records = json.loads(path.read_text())
        change(records)
        path.write_text(json.dumps(records))


@pytest.fixture()
def segmentor(tmp_path):
    return Toy(tmp_path, 'mmseg')


@pytest.fixture()
def detector(tmp_path):
    return Toy(tmp_path, 'mmdet')


def only(findings, kind, breaks=True):
    """The one finding, which is of that kind."""
    assert [*findings] == [kind]
    assert findings[kind].breaks == breaks
    return findings[kind]


class TestSegmentation:

    @pytest.mark.parametrize('workers', [0, 2])
    def test_nothing_wrong(self, segmentor, workers):
        one, = segmentor.look(workers)
        assert one.findings == [] and one.num_samples == 4
        assert one.amounts == {0: 1408, 1: 1408, 2: 1280} and one.unit == 'pixels'
        assert one.num_images == {0: 4, 1: 4, 2: 4}
        assert one.classes == ('sky', 'sea', 'land')

    def test_a_data_set_of_two_loaders_is_read_once(self, segmentor):
        one, = segmentor.look(splits=('train', 'val', 'test'))
        assert one.keys == [f'{split}_dataloader.dataset' for split in ('train', 'val', 'test')]

    @pytest.mark.parametrize('content', [b'', b'hello'])
    def test_unreadable(self, segmentor, content):
        (segmentor.data / 'images/1.jpg').write_bytes(content)
        assert only(segmentor.findings(), 'image cannot be read').place.endswith('images/1.jpg')
        cv2.imwrite(str(segmentor.data / 'images/1.jpg'), np.zeros((32, 32, 3), np.uint8))
        (segmentor.data / 'labels/2.png').write_bytes(content)
        assert only(segmentor.findings(), 'label cannot be read').place.endswith('labels/2.png')

    def test_damage_that_opencv_forgives(self, segmentor):
        path = with_bad_checksum(segmentor.data / 'images/9.jpg')
        cv2.imwrite(str(segmentor.data / 'labels/9.png'), np.zeros((24, 32), np.uint8))
        assert only(segmentor.findings(), 'damaged image', breaks=False).place == str(path)

    def test_cut_short(self, segmentor):
        path = cut_short(segmentor.data / 'images/9.jpg')
        cv2.imwrite(str(segmentor.data / 'labels/9.png'), np.zeros((64, 64), np.uint8))
        finding, = segmentor.findings().values()
        assert finding.kind in ('damaged image', 'image cannot be read')  # by OpenCV's release
        assert finding.place == str(path) and 'truncated' in finding.detail

    def test_missing_label(self, segmentor):
        (segmentor.data / 'labels/3.png').unlink()
        assert only(segmentor.findings(), 'missing label').place.endswith('labels/3.png')

    def test_sizes(self, segmentor):
        cv2.imwrite(str(segmentor.data / 'labels/0.png'), np.zeros((32, 40), np.uint8))
        finding = only(segmentor.findings(), 'image and label map differ in size')
        assert finding.detail == '32×32 pixels, 40×32 in the label map'

    def test_turned_image(self, segmentor):
        exif = Image.Exif()
        exif[0x0112] = 6
        Image.new('RGB', (32, 40)).save(segmentor.data / 'images/0.jpg', exif=exif)
        cv2.imwrite(str(segmentor.data / 'labels/0.png'), np.zeros((40, 32), np.uint8))
        finding = only(segmentor.findings(), 'image and label map differ in size')
        assert finding.detail.startswith('40×32 pixels, turned as its EXIF orientation says')

    def test_labels_out_of_range(self, segmentor):
        path = str(segmentor.data / 'labels/0.png')
        label = cv2.imread(path, cv2.IMREAD_UNCHANGED)
        label[0, :5], label[0, 5:9], label[1] = 3, 200, 255
        cv2.imwrite(path, label)
        finding = only(segmentor.findings(), 'labels out of range')
        assert finding.place == path
        assert finding.detail == '3, 200; there are 3 classes, and 255 is ignored'

    def test_reduce_zero_label(self, segmentor):
        for path in (segmentor.data / 'labels').iterdir():
            label = cv2.imread(str(path), cv2.IMREAD_UNCHANGED) + 1
            label[0] = 0
            cv2.imwrite(str(path), label)
        one, = segmentor.look(**{f'{LEAF}.reduce_zero_label': True})
        assert one.findings == [] and one.amounts == {0: 1280, 1: 1408, 2: 1280}
        assert 'labels out of range' in segmentor.findings()

    def test_ignore_index_of_the_head(self, segmentor):
        path = str(segmentor.data / 'labels/0.png')
        cv2.imwrite(path, np.full((32, 32), 9, np.uint8))
        assert 'labels out of range' in segmentor.findings()
        only(segmentor.findings(**{'model.decode_head.ignore_index': 9}),
             'no pixel has a class', breaks=False)

    def test_pictures_of_labels(self, segmentor):
        cv2.imwrite(str(segmentor.data / 'labels/0.png'), np.zeros((32, 32, 3), np.uint8))
        finding = only(segmentor.findings(), 'label map of several channels')
        assert '(32, 32, 3)' in finding.detail

    def test_more_than_eight_bits(self, segmentor):
        label = np.zeros((32, 32), np.uint16)
        label[0] = 257
        cv2.imwrite(str(segmentor.data / 'labels/0.png'), label)
        assert 'up to 257' in only(segmentor.findings(), 'label map of more than eight bits').detail

    def test_class_that_never_occurs(self, segmentor):
        options = {f'{LEAF}.metainfo.classes': ['sky', 'sea', 'land', 'moon']}
        findings = segmentor.findings(**options, **{'model.decode_head.num_classes': 4})
        assert only(findings, 'class that never occurs', breaks=False).detail == 'moon'

    @pytest.mark.parametrize('number, breaks', [(2, True), (4, False)])
    def test_head_of_another_number_of_classes(self, segmentor, number, breaks):
        finding = only(segmentor.findings(**{'model.decode_head.num_classes': number}),
                       'head whose number of classes is not that of the data set', breaks)
        assert finding.place == 'model.decode_head.num_classes'
        assert finding.detail == f'{number}; {LEAF} has 3'

    def test_no_images_of_that_suffix(self, segmentor):
        finding = only(segmentor.findings(**{f'{LEAF}.img_suffix': '.jpeg'}),
                       'data set without a sample')
        assert str(segmentor.data / 'images') in finding.detail

    def test_images_of_other_suffixes(self, segmentor):
        for name in ('a.JPG', 'b.JPG', 'c.webp'):
            (segmentor.data / 'images' / name).write_bytes(b'')
        (segmentor.data / 'images/notes.txt').touch()
        finding = only(segmentor.findings(), 'images in the folder that are not read', breaks=False)
        assert finding.place == str(segmentor.data / 'images')
        assert finding.detail == ('3 of 7: 2 end in .JPG, 1 end in .webp; read are those that end '
                                  'in .jpg')

    def test_labels_beside_the_images(self, segmentor):
        for path in (segmentor.data / 'labels').iterdir():
            path.rename(segmentor.data / 'images' / path.name)
        prefix = dict(img_path='images', seg_map_path='images')
        assert segmentor.findings(**{f'{LEAF}.data_prefix': prefix}) == {}

    @pytest.mark.parametrize('suffix', ['.png', '.tif', '.pgm'])
    def test_images_of_more_than_eight_bits(self, segmentor, suffix):
        """Of 12 bits only the upper four arrive."""
        folder = segmentor.data / 'deep'
        folder.mkdir()
        image = np.linspace(0, 4095, 32 * 32).astype(np.uint16).reshape(32, 32)
        cv2.imwrite(str(folder / f'0{suffix}'), image)
        options = {f'{LEAF}.img_suffix': suffix, f'{LEAF}.data_prefix.img_path': 'deep'}
        finding = only(segmentor.findings(**options), 'image of more than eight bits, cut to eight '
                       'by its loader', breaks=False)
        assert 'arrive as 0 to 15 of 255' in finding.detail
        load = dict(type='LoadImageFromFile', color_type='unchanged', to_float32=True)
        assert segmentor.findings(**options, **{f'{LEAF}.pipeline.0': load}) == {}

    @pytest.mark.parametrize('labels, options, advice', [
        ((0, 255), {}, 'label 0 and 255: 255 means "no class".*write another class as 1, 2, …'),
        ((0, 1), {f'{LEAF}.reduce_zero_label': True}, 'turns label 0 into it.*leave it out'),
        ((0, 9), {'model.decode_head.ignore_index': 9}, 'label 0 and 9: 9 means')])
    def test_masks_of_one_class_and_void(self, segmentor, labels, options, advice):
        """Every model would get an IoU of 100."""
        for path in (segmentor.data / 'labels').iterdir():
            cv2.imwrite(str(path), np.repeat(np.uint8(labels), 512).reshape(32, 32))
        finding = segmentor.findings(**options)[
            'label maps of one class alone, beside pixels that are left out']
        assert finding.breaks and re.search(advice, finding.detail)

    def test_missing_comma(self, segmentor):
        finding = only(segmentor.findings(**{f'{LEAF}.metainfo.classes': 'sky'}),
                       'data set cannot be built')
        assert "('sky', )" in finding.detail

    def test_inside_wrappers(self, segmentor):
        path = Path(segmentor.path)
        path.write_text(path.read_text() + (
            "train_dataloader['dataset'] = dict(type='ConcatDataset', datasets=[\n"
            "    dataset, dict(type='RepeatDataset', times=3, dataset=dict(\n"
            "        dataset, data_prefix=dict(img_path='more', seg_map_path='labels')))])\n"))
        (segmentor.data / 'more').mkdir()
        (segmentor.data / 'more/9.jpg').write_bytes(b'')
        one, other = segmentor.look()
        assert (one.num_samples, other.num_samples) == (4, 1)
        assert other.keys == [f'{LEAF}.datasets.1.dataset']
        assert [finding.kind for finding in other.findings][0] == 'image cannot be read'

    def test_mistakes(self, segmentor):
        with pytest.raises(UserError, match='the data set is not there'):
            segmentor.look(**{f'{LEAF}.data_root': 'nowhere'})
        with pytest.raises(UserError, match='no step named Load'):
            segmentor.look(**{f'{LEAF}.pipeline': []})
        path = Path(segmentor.path)
        path.write_text(path.read_text() + 'test_dataloader = None\n')
        with pytest.raises(UserError, match='no data set for test'):
            segmentor.look(splits=('test', ))


class TestClassification:

    @pytest.fixture()
    def config(self, tmp_path, monkeypatch):
        write_imagenet(tmp_path / 'data/imagenet')
        monkeypatch.chdir(tmp_path)

        def load(**options):
            cfg = load_config(str(ROOT / 'configs/qtvit1_imagenet.py'), {
                f'{split}_dataloader.dataset.metainfo.classes':
                    [str(label) for label in range(NUM_CLASSES)] for split in ('train', 'val')})
            cfg.merge_from_dict({'model.head.num_classes': NUM_CLASSES,
                                 'model.head.loss.num_classes': NUM_CLASSES, **options})
            return cfg
        return load

    def test_nothing_wrong(self, config):
        train, val = examine(config(), ('train', 'val'))
        assert train.findings == val.findings == []
        assert train.amounts == {label: 2 for label in range(NUM_CLASSES)}
        assert val.amounts == val.num_images == {label: 1 for label in range(NUM_CLASSES)}
        assert train.unit == 'images'

    def test_labels_out_of_range(self, config, tmp_path):
        meta = tmp_path / 'data/imagenet/meta'
        meta.mkdir()
        (meta / 'val.txt').write_text('n00/ILSVRC2012_val_00000001.JPEG 0\n'
                                      'n01/ILSVRC2012_val_00000002.JPEG 12\nn01/none.JPEG 1\n')
        one, = examine(config(), ('val', ))
        wrong, missing = one.findings
        assert wrong.kind == 'labels out of range' and '12; there are 12' in wrong.detail
        assert missing.kind == 'missing image' and missing.place.endswith('n01/none.JPEG')

    def test_folders_and_classes_that_do_not_agree(self, config):
        one, = examine(config(**{f'{LEAF}.metainfo.classes': ['a', 'b']}), ('train', ))
        finding, = one.findings
        assert finding.kind == 'data set cannot be built' and '(12)' in finding.detail


def test_report(capsys):
    one = Examination(['train_dataloader.dataset'], 'CocoDataset', ('disc', 'box'), 4, [
        Finding('damaged image', 'a.jpg', 'it is cut', breaks=False),
        *(Finding('missing image', f'{i}.jpg') for i in range(3))], {0: 5}, {0: 2}, 'boxes')
    other = Examination(['val_dataloader.dataset'], 'BaseSegDataset', ('disc', 'sea'), 2, [],
                        {0: 30, 1: 90, 7: 1}, {0: 1, 1: 2, 7: 1}, 'pixels')
    print_report([one, other], shown=2)
    lines = [line.strip() for line in capsys.readouterr().out.splitlines()]
    rows = [[cell.strip() for cell in line.strip('│').split('│')] for line in lines
            if line.startswith('│')]
    assert rows == [['disc', '5', '2', '24.79', '1'], ['box', '0', '0', '0.00', '0'],
                    ['sea', '0', '0', '74.38', '2'], ['label 7', '0', '0', '0.83', '1']]
    assert lines[-8:] == [
        'train_dataloader.dataset: CocoDataset, 4 samples',
        'ERROR: missing image (3)', '0.jpg', '1.jpg', 'and 1 more',
        'warning: damaged image (1)', 'a.jpg: it is cut',
        'val_dataloader.dataset: BaseSegDataset, 2 samples']


def test_equal_findings_are_summed_up(capsys):
    void = '11; there are 11 classes'
    one = Examination(['train_dataloader.dataset'], 'BaseSegDataset', ('sky', ), 367, [
        *(Finding('labels out of range', f'{i}.png', void) for i in range(367)),
        *(Finding('damaged image', f'{i}.jpg', f'cut at {i}') for i in range(5)),
        *(Finding('damaged image', f'{i}.png', 'empty') for i in range(2))])
    print_report([one])
    assert [line.strip() for line in capsys.readouterr().out.splitlines()[1:]] == [
        'ERROR: labels out of range (367)', f'{void}, in all 367:', '0.png', '1.png', '2.png',
        'and 364 more',
        'ERROR: damaged image (7)', '0.jpg: cut at 0', '1.jpg: cut at 1', '2.jpg: cut at 2',
        'and 4 more']


def test_names_are_printed_as_they_are(capsys):
    """Brackets are marks of style to rich, and colons may be those of a picture."""
    names = ('[red]', '[/]', 'box [old]', ':car:', '行人')
    print_report([Examination(
        ['train_dataloader.dataset'], 'CocoDataset', names, 4,
        [Finding('labels of [/class]', 'a[1].jpg', '[bold]')], {0: 1}, {0: 1}, 'boxes')])
    out = capsys.readouterr().out
    rows = [line.split('│')[1].strip() for line in out.splitlines() if line.startswith('│')]
    assert rows == list(names)
    assert 'ERROR: labels of [/class] (1)\n    a[1].jpg: [bold]\n' in out


@pytest.mark.parametrize('columns', [40, 60, 80])
def test_narrow_tables_keep_class_names_whole_or_cut_them(columns, capsys, monkeypatch):
    monkeypatch.setenv('COLUMNS', str(columns))
    names = ('pedestrian', 'traffic light', 'a-name-that-is-longer-than-any-narrow-terminal-is')
    print_report([
        Examination([f'{split}_dataloader.dataset'], 'CocoDataset', names, 4, [],
                    {0: 50000, 1: 2, 2: 3}, {0: 40000, 1: 1, 2: 1}, 'boxes')
        for split in ('train', 'val', 'test')])
    rows = [line.strip('│').split('│') for line in capsys.readouterr().out.splitlines()
            if line.startswith('│')]
    shown = [row[0].strip() for row in rows]
    assert len(shown) == len(names)
    for name, seen in zip(names, shown):
        assert seen == name or seen.endswith('…') and name.startswith(seen[:-1])


def test_a_missing_annotation_of_voc_is_named(tmp_path):
    for name, text in (('ImageSets/Main/train.txt', '000001\n'), ('JPEGImages/000001.jpg', '')):
        path = tmp_path / 'VOC2007' / name
        path.parent.mkdir(parents=True)
        path.write_text(text)
    dataset = dict(
        type='VOCDataset', data_root=str(tmp_path), ann_file='VOC2007/ImageSets/Main/train.txt',
        data_prefix=dict(sub_data_root='VOC2007/'), pipeline=[dict(type='LoadImageFromFile')])
    cfg = Config(dict(default_scope='mmdet', model={}, train_dataloader=dict(
        batch_size=1, num_workers=0, dataset=dataset,
        sampler=dict(type='DefaultSampler', shuffle=False))))
    finding = examine(cfg, ('train', ))[0].findings[0]
    assert str(tmp_path / 'VOC2007/Annotations/000001.xml') in f'{finding.place} {finding.detail}'


class TestCommandLine:

    def test_nothing_wrong(self, detector, capsys):
        tool('check_dataset').main([detector.path, '--workers', '2'])
        lines = capsys.readouterr().out.splitlines()
        assert 'train_dataloader.dataset: CocoDataset, 4 samples' in lines
        assert lines[-1] == 'errors: 0, warnings: 0'

    def test_what_would_break_training(self, detector, capsys):
        detector.change_records(lambda records: records['annotations'][0].update(bbox=[4, 4, 0, 9]))
        (detector.data / 'images/1.jpg').unlink()
        assert status('check_dataset', detector.path, '--workers', 0, '--splits', 'train') == 1
        out = capsys.readouterr().out
        assert f'  ERROR: missing image (1)\n    {detector.data}/images/1.jpg\n' in out
        assert out.endswith('errors: 1, warnings: 1\n')

    @pytest.mark.parametrize('arguments, reason', [
        (['missing.py'], 'missing.py not found'), (['toy_mmdet.py', '--workers', -1], 'got -1'),
        (['toy_mmdet.py', '--splits', 'train', '--cfg-options',
          'train_dataloader.dataset.ann_file=none.json'], 'data/none.json')])
    def test_mistakes(self, detector, monkeypatch, capsys, arguments, reason):
        monkeypatch.chdir(detector.data.parent)
        assert status('check_dataset', *arguments) == 2
        assert reason in capsys.readouterr().err


def test_real_samples(shared, monkeypatch):
    """Nothing in the published files breaks training, and the counts are those of the records."""
    monkeypatch.chdir(ROOT)
    root = f'{shared}/data/coco/'
    cfg = load_config(str(ROOT / 'configs/cascade_mask_rcnn_qtvit1_coco.py'), {
        'train_dataloader.dataset.data_root': root})
    coco, = examine(cfg, ('train', ))
    assert not any(finding.breaks for finding in coco.findings)
    records = json.loads((shared / 'data/coco/annotations/instances_train2017.json').read_text())
    assert sum(coco.amounts.values()) == sum(not one['iscrowd'] for one in records['annotations'])
    cfg = load_config(str(ROOT / 'configs/upernet_qtvit1_ade20k.py'), {
        'train_dataloader.dataset.data_root': f'{shared}/data/ade20k'})
    ade, = examine(cfg, ('train', ))
    assert ade.num_samples == 3 and not any(finding.breaks for finding in ade.findings)
    assert 'wall' not in ade.absent()
