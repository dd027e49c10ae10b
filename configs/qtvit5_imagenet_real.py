_base_ = './qtvit5_imagenet.py'

test_evaluator = dict(_delete_=True, type='ReaLAccuracy', ann_file='data/imagenet/real.json')
