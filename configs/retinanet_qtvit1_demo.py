# RetinaNet on QT-ViT-1, from scratch, on the scenes of tools/make_demo_data.py: the recipe for a
# data set of one's own in COCO's format. Neck and head a quarter as wide as usual and half as deep,
# for two CPU cores.
_base_ = './retinanet_qtvit1_coco.py'

data_root = 'data/demo/coco/'
metainfo = dict(
    classes=('disk', 'square', 'triangle', 'star', 'cross', 'heart', 'moon', 'arrow'),
    palette=[(230, 25, 75), (60, 90, 240), (60, 180, 75), (255, 225, 25), (245, 130, 48),
             (145, 30, 180), (250, 190, 212), (0, 128, 128)])
scale = (128, 128)

train_pipeline = [
    dict(type='LoadImageFromFile'),
    dict(type='LoadAnnotations', with_bbox=True),
    dict(type='RandomResize', scale=scale, ratio_range=(0.8, 1.25), keep_ratio=True),
    dict(type='RandomFlip', prob=0.5),
    dict(type='PackDetInputs')
]
test_pipeline = [
    dict(type='LoadImageFromFile'),
    dict(type='Resize', scale=scale, keep_ratio=True),
    dict(type='LoadAnnotations', with_bbox=True),
    dict(
        type='PackDetInputs',
        meta_keys=('img_id', 'img_path', 'ori_shape', 'img_shape', 'scale_factor'))
]
dataset = dict(data_root=data_root, metainfo=metainfo)
train_dataloader = dict(
    batch_size=8, num_workers=1, dataset=dict(**dataset, pipeline=train_pipeline))
val_dataloader = dict(num_workers=1, dataset=dict(**dataset, pipeline=test_pipeline))
test_dataloader = val_dataloader
val_evaluator = dict(ann_file=data_root + 'annotations/instances_val2017.json')
test_evaluator = val_evaluator

model = dict(
    backbone=dict(frozen_stages=-1, norm_eval=False),
    neck=dict(out_channels=64, num_outs=4, norm_cfg=dict(type='BN')),
    bbox_head=dict(
        num_classes=8,
        in_channels=64,
        feat_channels=64,
        stacked_convs=2,
        norm_cfg=dict(type='BN'),
        anchor_generator=dict(strides=[8, 16, 32, 64])))

max_epochs = 6
optim_wrapper = dict(optimizer=dict(_delete_=True, type='AdamW', lr=1e-3, weight_decay=0.05))
param_scheduler = [
    dict(type='LinearLR', start_factor=0.01, by_epoch=False, begin=0, end=50),
    dict(
        type='CosineAnnealingLR',
        begin=0,
        end=max_epochs,
        eta_min=1e-5,
        convert_to_iter_based=True)
]
train_cfg = dict(max_epochs=max_epochs, val_interval=1)
default_hooks = dict(logger=dict(interval=20), checkpoint=dict(interval=6))
randomness = dict(seed=0)
