_base_ = './upernet_efficientvit_b1_ade20k.py'

model = dict(
    backbone=dict(arch='b2'),
    decode_head=dict(in_channels=[48, 96, 192, 384]),
    auxiliary_head=dict(in_channels=192))
