_base_ = './efficientvit_b1_imagenet.py'

test_dataloader = dict(
    dataset=dict(
        _delete_=True,
        type='ImageNetV2',
        data_root='data/imagenetv2-matched-frequency-format-val',
        pipeline={{_base_.test_pipeline}}))
