_base_ = './qtvit3_imagenet.py'

model = dict(backbone=dict(type='mmqtvit.EfficientViT', arch='b3'))
