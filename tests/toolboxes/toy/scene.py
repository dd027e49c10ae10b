default_scope = 'mmtoy'
model = dict(
    type='Scene',
    data_preprocessor=dict(type='ImgDataPreprocessor', mean=[0.] * 3, std=[1.] * 3),
    backbone=dict(type='mmqtvit.EfficientViT', arch='b0', out_indices=(3, )),
    head=dict(type='Head', in_channels=128, num_classes=2))
test_dataloader = dict(dataset=dict(
    type='BaseDataset', metainfo=dict(classes=('light', 'dark')),
    pipeline=[dict(type='LoadImageFromFile')]))
