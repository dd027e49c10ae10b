# Taken as _base_.frozen_start: mmengine lets no two bases set the same key.
# The detectors' R50 recipes fix the first layers of a pretrained backbone and all its batch norms.
frozen_start = dict(
    frozen_stages=1, norm_cfg=dict(type='BN', requires_grad=True), norm_eval=True)
