_base_ = './upernet_qtvit1_ade20k.py'

model = dict(
    backbone=dict(arch='qtvit3'),
    decode_head=dict(in_channels=[64, 128, 256, 512]),
    auxiliary_head=dict(in_channels=256))
