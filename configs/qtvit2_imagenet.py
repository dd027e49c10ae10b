_base_ = './qtvit1_imagenet.py'

model = dict(
    backbone=dict(arch='qtvit2'),
    neck=dict(in_channels=384, hidden_channels=2304, out_channels=2560),
    head=dict(in_channels=2560))
