_base_ = './qtvit1_imagenet.py'

test_evaluator = dict(_delete_=True, type='ReaLAccuracy', ann_file='data/imagenet/real.json')
