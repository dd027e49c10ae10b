# UPerNet-R50's recipe (16 images a step) with QT-ViT-1 in place of the ResNet.
_base_ = [
    'mmseg::upernet/upernet_r50_4xb4-160k_ade20k-512x512.py',
    './_base_/qtvit.py'
]

model = dict(
    pretrained=None,
    backbone=dict(
        _delete_=True,
        type='mmqtvit.QTViT',
        arch='qtvit1',
        norm_cfg=dict(type='SyncBN', requires_grad=True)),
    decode_head=dict(in_channels=[32, 64, 128, 256]),
    auxiliary_head=dict(in_channels=128))

optim_wrapper = dict(paramwise_cfg=_base_.no_decay)
