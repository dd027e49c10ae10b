"""COCO annotation files with one thing wrong each, looked through in a detector's config."""

import json

import pytest

from mmqtvit.apis import UserError, load_config, train

from .test_check_dataset import LEAF, Toy, only


@pytest.fixture()
def detector(tmp_path):
    return Toy(tmp_path, 'mmdet')


def test_nothing_wrong(detector):
    one, = detector.look()
    assert one.findings == [] and one.unit == 'boxes'
    assert one.amounts == one.num_images == {0: 2, 1: 2}


@pytest.mark.parametrize('box, kind, breaks', [
    ([4, 4, 0, 9], 'empty box, left out by the toolbox', False),
    ([4, 4, 9, -2], 'empty box, left out by the toolbox', False),
    ([32, 4, 9, 9], 'box outside the image, left out by the toolbox', False),
    ([-9, 4, 9, 9], 'box outside the image, left out by the toolbox', False),
    ([4, 4, 9, .5], 'box thinner than a pixel or of area 0, left out by the toolbox', False),
    ([4, 4, 30, 9], 'box that reaches over the border of the image', False),
    ([4, 4, float('nan'), 9], 'box that is not four numbers', True),
    ([4, 4, 9], 'box that is not four numbers', True)])
def test_boxes(detector, box, kind, breaks):
    detector.change_records(lambda records: records['annotations'][2].update(bbox=box))
    finding = detector.findings()[kind]
    assert finding.breaks == breaks
    assert finding.place.endswith('boxes.json, annotation 3 of 2.jpg')
    assert finding.detail == f'{box} in 32×32'


def test_published_boxes_reach_a_pixel_over_the_border(detector):
    detector.change_records(
        lambda records: records['annotations'][2].update(bbox=[4, 4, 29, 28.4]))
    assert detector.findings() == {}


def test_category_that_the_config_does_not_know(detector):
    def change(records):
        records['categories'].append(dict(id=9, name='star'))
        records['annotations'][0]['category_id'] = 9
    detector.change_records(change)
    finding = only(detector.findings(), 'category that the config does not know, left out by '
                   'the toolbox', breaks=False)
    assert 'star (id 9): 1 annotations' in finding.detail


def test_class_that_the_file_does_not_have(detector):
    """mmdet would give box the label of disc."""
    detector.change_records(lambda records: records['categories'].pop(0))
    finding = detector.findings()['classes that the annotation file does not have']
    assert finding.breaks and finding.detail == 'disc; it has box'


def test_classes_in_another_order(detector):
    detector.change_records(lambda records: records['categories'].reverse())
    finding = only(
        detector.findings(),
        'classes in another order than in the annotation file, which the toolbox follows')
    assert finding.detail == 'disc, box in the config, box, disc in the file'


def test_size_that_the_record_does_not_have(detector):
    detector.change_records(lambda records: records['images'][1].update(height=48))
    finding = only(detector.findings(), 'image and annotation differ in size')
    assert finding.place.endswith('1.jpg')
    assert finding.detail == '32×32 pixels, 32×48 in the annotation'


def test_missing_image(detector):
    (detector.data / 'images/1.jpg').unlink()
    assert only(detector.findings(), 'missing image').place.endswith('images/1.jpg')


@pytest.mark.parametrize('change, kind, detail', [
    (lambda records: records['annotations'][0].pop('area'),
     'annotation without what the toolbox reads', 'area'),
    (lambda records: records['annotations'][0].update(id=2),
     'ids of annotations that are not unique', '2'),
    (lambda records: records['annotations'][0].update(image_id='0'),
     'image_id that is text where the id of the image is a number', "'0'"),
    (lambda records: records['images'][0].pop('height'),
     'image record without what the toolbox reads', 'height'),
    (lambda records: records['images'][0].update(width='32'),
     'image record without what the toolbox reads', "width (got '32')"),
    (lambda records: records['annotations'][0].update(bbox=None),
     'annotation without what the toolbox reads', 'bbox (got None)'),
    (lambda records: records['categories'][0].pop('name'),
     'record that cannot be read', 'name'),
    (lambda records: records['annotations'].insert(0, [1, 2]),
     'record that cannot be read', 'a list, no object'),
    (lambda records: records.update(images={}),
     "annotation file that is not COCO's", 'images is a dict, no list'),
    (lambda records: records.pop('categories'),
     "annotation file that is not COCO's", 'without categories')])
def test_records(detector, change, kind, detail):
    detector.change_records(change)
    finding = detector.findings()[kind]
    assert finding.breaks and finding.detail == detail


def test_annotation_of_no_image(detector):
    detector.change_records(lambda records: records['annotations'][0].update(image_id=77))
    finding = detector.findings()['annotation of an image that the file does not list']
    assert finding.detail == 'image_id 77' and not finding.breaks


def test_info_is_asked_for_where_the_evaluation_reads_it(detector):
    detector.change_records(lambda records: records.pop('info'))
    assert detector.findings() == {}
    only(detector.findings(splits=('val', )), "annotation file without 'info'")


def test_a_metric_that_reads_the_annotations_of_other_images(detector):
    records = json.loads((detector.data / 'boxes.json').read_text())
    (detector.data / 'same.json').write_text(json.dumps(records))
    records['images'] = records['images'][1:]
    (detector.data / 'other.json').write_text(json.dumps(records))
    for name in ('boxes', 'same'):
        path = str(detector.data / f'{name}.json')
        assert detector.findings(splits=('val', ), val_evaluator__ann_file=path) == {}
    path = str(detector.data / 'other.json')
    findings = detector.findings(splits=('val', ), val_evaluator__ann_file=path)
    finding = findings['metric with the annotation file of other images']
    assert finding.place == 'val_evaluator.ann_file'
    assert finding.detail == f'{path} does not list the ids 0'


def test_nothing_left_over(detector):
    """mmdet drops every image without a box of the config's classes."""
    def change(records):
        records['categories'] = [dict(id=7, name='star'), dict(id=8, name='ring')]
    detector.change_records(change)
    findings = detector.findings(**{f'{LEAF}.filter_cfg.filter_empty_gt': True})
    assert findings['data set without a sample'].breaks
    kind = 'classes that the annotation file does not have'
    assert findings[kind].detail == 'disc, box; it has star, ring'


def test_no_json(detector):
    (detector.data / 'boxes.json').write_text('{')
    only(detector.findings(), 'annotation file cannot be read')


def test_masks_that_the_config_reads(detector):
    detector.change_records(
        lambda records: records['annotations'][0].update(segmentation=[]))
    assert detector.findings() == {}
    finding = only(detector.findings(**{f'{LEAF}.pipeline.2.with_mask': True}),
                   'label cannot be read')
    assert finding.detail == "LoadAnnotations needs 'mask' in the annotation"


def test_masks_that_are_no_areas(detector):
    def change(records):
        for annotation in records['annotations']:
            annotation['segmentation'] = [[4, 4, 9, 4, 9, 9]]
        records['annotations'][0]['segmentation'] = [[4, 4, 9, 9]]
    detector.change_records(change)
    finding = only(detector.findings(**{f'{LEAF}.pipeline.2.with_mask': True}),
                   'mask without a polygon of three points, ignored by the toolbox', breaks=False)
    assert finding.place.endswith('0.jpg') and finding.detail == '1 of 1'


def test_head_of_fewer_classes(detector):
    finding = only(detector.findings(**{'model.bbox_head.num_classes': 1}),
                   'head whose number of classes is not that of the data set')
    assert finding.place == 'model.bbox_head.num_classes'


class TestEvaluation:
    """What the evaluation reads and training does not; the run is refused as well."""

    @pytest.mark.parametrize('change, start', [
        (lambda one: one.pop('iscrowd'), "annotation without 'iscrowd'"),
        (lambda one: one.update(iscrowd='0'), "annotation without 'iscrowd'"),
        (lambda one: one.update(id=0), 'annotation whose id is no whole number other than 0'),
        (lambda one: one.update(id='a'), 'annotation whose id is no whole number other than 0')])
    def test_entries(self, detector, change, start, tmp_path):
        detector.change_records(lambda records: change(records['annotations'][0]))
        assert detector.findings() == {}
        (kind, finding), = detector.findings(splits=('val', )).items()
        assert kind.startswith(start) and finding.breaks
        assert finding.place.endswith('boxes.json')
        assert finding.detail.startswith('1 annotations: ids ')
        with pytest.raises(UserError, match=start):
            train(load_config(detector.path, work_dir=str(tmp_path / 'run')))
        assert not list((tmp_path / 'run').glob('*.pth'))

    @pytest.mark.parametrize('segmentation', [[], [[4, 4, 9, 9]], None])
    def test_masks(self, detector, segmentation):
        detector.change_records(
            lambda records: records['annotations'][0].update(segmentation=segmentation))
        assert detector.findings(splits=('val', )) == {}
        only(detector.findings(splits=('val', ), val_evaluator__metric=['bbox', 'segm']),
             "annotation without a 'segmentation' that the evaluation of masks can read")

    def test_ignored_boxes(self, detector):
        detector.change_records(lambda records: records['annotations'][0].update(ignore=1))
        only(detector.findings(splits=('val', )),
             "annotation with 'ignore', which pycocotools judges all the same", breaks=False)

    def test_images_that_share_ids(self, detector):
        """As two files have them that were numbered each for itself."""
        two = dict(type='ConcatDataset', datasets=[
            dict(load_config(detector.path).val_dataloader.dataset) for _ in range(2)])
        options = {'val_dataloader.dataset': dict(two, _delete_=True)}
        finding = only(detector.findings(splits=('val', ), **options),
                       'images that share an id, which one metric cannot tell apart')
        assert finding.detail.startswith('8 images of val_dataloader, 4 ids; shared: 0, 1, 2, 3')
        path = str(detector.data / 'boxes.json')
        evaluator = dict(type='MultiDatasetsEvaluator', dataset_prefixes=['a', 'b'], metrics=[
            dict(type='CocoMetric', ann_file=path), dict(type='CocoMetric', ann_file=path)])
        options['val_evaluator'] = dict(evaluator, _delete_=True)
        assert detector.findings(splits=('val', ), **options) == {}

    def test_images_that_are_not_read(self, detector):
        finding = only(detector.findings(splits=('val', ), val_dataloader__dataset__indices=3),
                       'metric that expects images which are not read')
        assert finding.detail.endswith('4 images, 3 are read: the boxes of the other 1 count as '
                                       'missed')

    def test_samples_without_labels_are_not_judged(self, detector):
        detector.change_records(lambda records: records['annotations'][0].update(id=0))
        options = dict(val_evaluator__format_only=True, val_evaluator__outfile_prefix='x')
        assert detector.findings(splits=('val', ), **options) == {}


@pytest.mark.parametrize('key', ['val_dataloader.dataset.ann_file', 'val_evaluator.ann_file',
                                 'train_dataloader.dataset.data_root',
                                 'train_dataloader.dataset.data_prefix.img'])
def test_a_list_where_a_path_is_meant(detector, key):
    with pytest.raises(UserError, match=rf"{key} must be one path, got \['a', 'b'\].*Concat"):
        detector.look(splits=('train', 'val'), **{key: ['a', 'b']})
