"""The main job on real images of ADE20K and COCO: train, stop, resume, evaluate."""

import sys

import pytest

from .test_command_lines import ROOT, TOOLS, run, start_and_interrupt

# Narrow heads and small images keep this in a minute; classes, data and recipe are the real ones.
SEGMENTOR = [
    'model.decode_head.channels=16', 'model.auxiliary_head.channels=16',
    'model.data_preprocessor.size=(64,64)', 'train_dataloader.batch_size=2',
    'train_dataloader.dataset.pipeline.2.scale=(256,64)',
    'train_dataloader.dataset.pipeline.3.crop_size=(64,64)',
    'test_dataloader.dataset.pipeline.1.scale=(256,128)',
    'val_dataloader.dataset.pipeline.1.scale=(256,128)',
    'train_cfg.max_iters=50', 'train_cfg.val_interval=50',
]
DETECTOR = [
    'model.neck.out_channels=16', 'model.rpn_head.in_channels=16',
    'model.rpn_head.feat_channels=16',
    'model.roi_head.bbox_roi_extractor.out_channels=16',
    'model.roi_head.mask_roi_extractor.out_channels=16',
    *(f'model.roi_head.bbox_head.{stage}.{key}={value}' for stage in range(3)
      for key, value in (('in_channels', 16), ('fc_out_channels', 32))),
    'model.roi_head.mask_head.in_channels=16', 'model.roi_head.mask_head.conv_out_channels=16',
    'model.train_cfg.rpn_proposal.max_per_img=100', 'model.test_cfg.rpn.max_per_img=100',
    *(f'model.train_cfg.rcnn.{stage}.sampler.num=32' for stage in range(3)),
    'train_dataloader.batch_size=1', 'train_dataloader.dataset.pipeline.2.scale=(160,160)',
    'test_dataloader.dataset.pipeline.1.scale=(160,160)',
    'val_dataloader.dataset.pipeline.1.scale=(160,160)',
    'train_dataloader.dataset.filter_cfg.min_size=1', 'train_cfg.max_epochs=4',
    'train_cfg.val_interval=4',
    'model.test_cfg.rcnn.score_thr=0.',  # after so little training nothing scores more
]


def common(root, *splits):
    return ['default_hooks.logger.interval=5',
            *(f'{split}_dataloader.{key}' for split in splits
              for key in (f'dataset.data_root={root}/', 'num_workers=1'))]


def train_stop_resume_test(tmp_path, config, options, marker, last):
    train = [sys.executable, TOOLS / 'train.py', ROOT / 'configs' / config]
    options = ['--cfg-options', *options]
    status, output = start_and_interrupt([*train, *options], marker, tmp_path)
    assert status == 130, output[-2000:]
    result = run(*train, '--resume', *options, cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert 'resumed epoch' in result.stdout
    work_dir = f'work_dirs/{config[:-3]}'
    result = run(sys.executable, TOOLS / 'test.py', ROOT / 'configs' / config,
                 f'{work_dir}/{last}', '--show-dir', 'pictures', *options, cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    pictures = [path for path in (tmp_path / 'pictures').rglob('*') if path.is_file()
                and path.suffix in ('.png', '.jpg')]
    return result.stdout, pictures


@pytest.mark.slow()
def test_ade20k(tmp_path, shared):
    options = [*SEGMENTOR, 'default_hooks.checkpoint.interval=10',
               *common(shared / 'data/ade20k', 'train', 'val', 'test')]
    output, pictures = train_stop_resume_test(
        tmp_path, 'upernet_qtvit1_ade20k.py', options, 'Saving checkpoint at 20', 'iter_50.pth')
    assert 'mIoU' in output
    assert output.count(' nan ') + output.count('|  0.0 ') > 100  # 150 classes, few in six images
    assert all(f' {name} ' in output for name in ('wall', 'sconce', 'flag'))
    assert len(pictures) == 6


@pytest.mark.slow()
def test_coco(tmp_path, shared):
    root = shared / 'data/coco'
    options = [*DETECTOR, *common(root, 'train', 'val', 'test'),
               *(f'{split}_evaluator.ann_file={root}/annotations/instances_val2017.json'
                 for split in ('val', 'test')), 'test_evaluator.classwise=True']
    output, pictures = train_stop_resume_test(
        tmp_path, 'cascade_mask_rcnn_qtvit1_coco.py', options, 'Saving checkpoint at 2',
        'epoch_4.pth')
    for metric in ('bbox_mAP: ', 'segm_mAP: '):
        assert metric in output
    assert all(name in output for name in ('person', 'traffic light', 'toothbrush'))
    assert len(pictures) == 8
