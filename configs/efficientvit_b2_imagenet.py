_base_ = './qtvit2_imagenet.py'

model = dict(backbone=dict(type='mmqtvit.EfficientViT', arch='b2'))
