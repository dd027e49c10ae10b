# UPerNet on QT-ViT-1, from scratch, on the scenes of tools/make_demo_data.py: the recipe for a data
# set of one's own in ADE20K's layout. Heads an eighth as wide as usual, for two CPU cores.
_base_ = './upernet_qtvit1_ade20k.py'

metainfo = dict(
    classes=('sky', 'ground', 'disk', 'square', 'triangle', 'star', 'cross', 'heart', 'moon',
             'arrow'),
    palette=[[135, 206, 235], [139, 105, 60], [230, 25, 75], [60, 90, 240], [60, 180, 75],
             [255, 225, 25], [245, 130, 48], [145, 30, 180], [250, 190, 212], [0, 128, 128]])
crop_size = (128, 128)

train_pipeline = [
    dict(type='LoadImageFromFile'),
    dict(type='LoadAnnotations', reduce_zero_label=True),
    dict(type='RandomResize', scale=crop_size, ratio_range=(0.9, 1.25), keep_ratio=True),
    dict(type='RandomCrop', crop_size=crop_size),
    dict(type='RandomFlip', prob=0.5),
    dict(type='PackSegInputs')
]
test_pipeline = [
    dict(type='LoadImageFromFile'),
    dict(type='LoadAnnotations', reduce_zero_label=True),
    dict(type='PackSegInputs')
]
dataset = dict(type='BaseSegDataset', data_root='data/demo/ade20k', metainfo=metainfo,
               reduce_zero_label=True)
train_dataloader = dict(
    batch_size=8, num_workers=1, dataset=dict(**dataset, pipeline=train_pipeline))
val_dataloader = dict(num_workers=1, dataset=dict(**dataset, pipeline=test_pipeline))
test_dataloader = val_dataloader

model = dict(
    data_preprocessor=dict(size=crop_size),
    # Sky and ground are most of each scene and soon easy: hard pixels alone are learnt from.
    decode_head=dict(
        channels=64, num_classes=10, sampler=dict(type='OHEMPixelSampler', min_kept=10000)),
    auxiliary_head=dict(channels=32, num_classes=10))

max_iters = 600
optim_wrapper = dict(optimizer=dict(_delete_=True, type='AdamW', lr=2e-3, weight_decay=0.05))
param_scheduler = [
    dict(type='LinearLR', start_factor=0.01, by_epoch=False, begin=0, end=50),
    dict(type='CosineAnnealingLR', by_epoch=False, begin=50, end=max_iters, eta_min=1e-5)
]
train_cfg = dict(max_iters=max_iters, val_interval=120)
default_hooks = dict(logger=dict(interval=20), checkpoint=dict(interval=300))
randomness = dict(seed=0)
