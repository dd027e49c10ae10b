# The L series: stronger augmentation, a lower learning rate.
_base_ = './qtvit1_imagenet.py'

train_pipeline = [
    dict(type='LoadImageFromFile'),
    dict(type='RandomResizedCrop', scale=224, backend='pillow', interpolation='bicubic'),
    dict(type='RandomFlip', prob=0.5, direction='horizontal'),
    dict(
        type='RandAugment', policies='timm_increasing', num_policies=2, total_level=10,
        magnitude_level=5, magnitude_std=1.,
        hparams=dict(pad_val=[round(x) for x in _base_.bgr_mean], interpolation='bicubic')),
    dict(
        type='RandomErasing', erase_prob=0.2, mode='rand', min_area_ratio=0.02,
        max_area_ratio=1 / 3, fill_color=_base_.bgr_mean, fill_std=_base_.bgr_std),
    dict(type='PackInputs')
]
train_dataloader = dict(dataset=dict(pipeline=train_pipeline))

model = dict(
    backbone=dict(arch='qtvit4', drop_path_rate=0.1, num_undropped=2),
    neck=dict(in_channels=512, hidden_channels=3072, out_channels=3200, series='l'),
    head=dict(in_channels=3200),
    train_cfg=dict(augments=[dict(type='Mixup', alpha=0.2), dict(type='CutMix', alpha=0.2)]))

optim_wrapper = dict(optimizer=dict(lr=1.5e-4 * 1024 / 128))
