_base_ = './qtvit1_imagenet.py'

train_pipeline = [
    dict(type='LoadImageFromFile'),
    dict(type='RandomResizedCrop', scale=224, backend='pillow', interpolation='bicubic'),
    dict(type='RandomFlip', prob=0.5, direction='horizontal'),
    dict(
        type='RandAugment', policies='timm_increasing', num_policies=2, total_level=10,
        magnitude_level=6, magnitude_std=1.,
        hparams=dict(pad_val=[round(x) for x in _base_.bgr_mean], interpolation='bicubic')),
    dict(type='PackInputs')
]
train_dataloader = dict(dataset=dict(pipeline=train_pipeline))

model = dict(
    backbone=dict(arch='qtvit3', drop_path_rate=0.1),
    neck=dict(in_channels=512, hidden_channels=2304, out_channels=2560),
    head=dict(in_channels=2560),
    train_cfg=dict(augments=[dict(type='Mixup', alpha=0.3), dict(type='CutMix', alpha=0.3)]))
