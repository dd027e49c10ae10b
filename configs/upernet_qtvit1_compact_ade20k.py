# The compact kernel without its linear term, as in all experiments of the paper.
_base_ = './upernet_qtvit1_ade20k.py'

model = dict(backbone=dict(attention=dict(type='CompactQuadraticTaylor', beta=None)))

optim_wrapper = dict(
    paramwise_cfg=dict(
        custom_keys={f'kernel.{name}': dict(decay_mult=0.) for name in ('alpha', 'beta', 'gamma')}))
