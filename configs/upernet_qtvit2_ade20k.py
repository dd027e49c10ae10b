_base_ = './upernet_qtvit1_ade20k.py'

model = dict(
    backbone=dict(arch='qtvit2'),
    decode_head=dict(in_channels=[48, 96, 192, 384]),
    auxiliary_head=dict(in_channels=192))
