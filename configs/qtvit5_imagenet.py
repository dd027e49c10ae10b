_base_ = './qtvit4_imagenet.py'

model = dict(
    backbone=dict(arch='qtvit5', num_undropped=3),
    train_cfg=dict(augments=[dict(type='Mixup', alpha=0.4), dict(type='CutMix', alpha=0.4)]))
