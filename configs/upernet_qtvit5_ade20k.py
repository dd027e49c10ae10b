_base_ = './upernet_qtvit4_ade20k.py'

model = dict(backbone=dict(arch='qtvit5'))
