# Taken as _base_.no_decay: mmengine lets no two bases set the same key.
# Weight decay would pull to zero what a ResNet has no counterpart of.
no_decay = dict(
    custom_keys={
        'position_embedding': dict(decay_mult=0.),
        'kernel.constant': dict(decay_mult=0.),
    })
