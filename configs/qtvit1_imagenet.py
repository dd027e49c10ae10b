# The published recipe of QT-ViT-1, as far as mmpretrain and mmengine carry it, for 1024 images a
# step (8 processes of 128). README.md of this folder lists what is left out.
_base_ = [
    'mmpretrain::_base_/datasets/imagenet_bs128_poolformer_small_224.py',
    'mmpretrain::_base_/schedules/imagenet_bs1024_adamw_swin.py',
    'mmpretrain::_base_/default_runtime.py',
    './_base_/qtvit.py'
]
custom_imports = dict(imports=['mmqtvit.engine.imagenet'])

data_preprocessor = dict(type='MultiResolutionDataPreprocessor', sizes=[128, 160, 192, 224])
train_pipeline = [
    dict(type='LoadImageFromFile'),
    dict(type='RandomResizedCrop', scale=224, backend='pillow', interpolation='bicubic'),
    dict(type='RandomFlip', prob=0.5, direction='horizontal'),
    dict(
        type='RandAugment', policies='timm_increasing', num_policies=1, total_level=10,
        magnitude_level=3, magnitude_std=1.,
        hparams=dict(pad_val=[round(x) for x in _base_.bgr_mean], interpolation='bicubic')),
    dict(type='PackInputs')
]
# The short side is 224 / 0.95: another size S takes ceil(S / 0.95), see README.md.
test_pipeline = [
    dict(type='LoadImageFromFile'),
    dict(
        type='ResizeEdge', scale=236, edge='short', backend='pillow', interpolation='bicubic'),
    dict(type='CenterCrop', crop_size=224),
    dict(type='PackInputs')
]
train_dataloader = dict(dataset=dict(pipeline=train_pipeline))
val_dataloader = dict(dataset=dict(pipeline=test_pipeline))
test_dataloader = val_dataloader

model = dict(
    type='ImageClassifier',
    backbone=dict(
        type='mmqtvit.QTViT', arch='qtvit1', out_indices=(3, ), drop_path_rate=0.05),
    neck=dict(
        type='mmqtvit.ClassifierNeck', in_channels=256, hidden_channels=1536, out_channels=1600),
    head=dict(
        type='LinearClsHead', num_classes=1000, in_channels=1600,
        init_cfg=dict(type='TruncNormal', layer='Linear', std=0.02),
        # Binary cross-entropy. mmpretrain sums it over the classes, the published one is the mean.
        loss=dict(
            type='LabelSmoothLoss', label_smooth_val=0.1, num_classes=1000, use_sigmoid=True,
            loss_weight=1 / 1000)),
    train_cfg=dict(augments=[dict(type='Mixup', alpha=0.1), dict(type='CutMix', alpha=0.1)]))

optim_wrapper = dict(
    optimizer=dict(lr=2.5e-4 * 1024 / 128, weight_decay=0.1),
    clip_grad=dict(max_norm=2.),
    paramwise_cfg=_base_.no_decay)
max_epochs = 320
param_scheduler = [
    dict(type='LinearLR', start_factor=1e-3, by_epoch=True, end=20, convert_to_iter_based=True),
    dict(type='CosineAnnealingLR', by_epoch=True, begin=20, end=max_epochs, eta_min=0.,
         convert_to_iter_based=True)
]
train_cfg = dict(max_epochs=max_epochs)
custom_hooks = [
    dict(type='EMAHook', momentum=2e-4, update_buffers=True),
    dict(type='AveragedPreciseBNHook', num_samples=16000)
]
default_hooks = dict(checkpoint=dict(max_keep_ckpts=3, save_best='accuracy/top1'))
