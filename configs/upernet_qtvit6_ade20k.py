_base_ = './upernet_qtvit1_ade20k.py'

model = dict(
    backbone=dict(arch='qtvit6'),
    decode_head=dict(in_channels=[128, 256, 512, 1024]),
    auxiliary_head=dict(in_channels=512))
