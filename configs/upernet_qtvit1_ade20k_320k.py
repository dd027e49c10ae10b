_base_ = './upernet_qtvit1_ade20k.py'

param_scheduler = [
    dict(type='PolyLR', eta_min=1e-4, power=0.9, begin=0, end=320000, by_epoch=False)
]
train_cfg = dict(max_iters=320000, val_interval=32000)
default_hooks = dict(checkpoint=dict(interval=32000))
