"""MMPose."""

import math
from collections.abc import Iterator, Sequence
from typing import Any, Optional

import numpy as np
from mmengine import Config

from ..backbones.zoo import IMAGENET
from ..cfg.tree import as_list, type_name, typed
from .base import Toolbox, register
from .parts import sample_meta

NUM_KEYPOINTS = 17  # COCO's, where a head names no number


@register
class MMPose(Toolbox):
    """Estimators of keypoints in a crop of one person, animal, face or hand.

    Their heat maps have a size in the config, for which their heads need the very stride.
    """

    name = package = 'mmpose'
    also = ('xtcocotools', 'json_tricks', 'munkres')
    pip_options = ('--no-deps', )  # it declares chumpy, which does not build and is not needed
    exact_strides = True
    load_step = 'LoadImage'
    visualizer = 'PoseLocalVisualizer'
    default_size = (256, 192)
    coco_package = 'xtcocotools'
    bound_models = {'PoseLifter': 'reads keypoints, not images'}
    bound_heads = {'InternetHead': 'predicts depth, and only keypoints in the image are known here'}

    def image_size(self, cfg: Config) -> tuple:
        """Of the crop: (height, width) in pixels. A step names it as (width, height)."""
        for split in self.size_splits:
            for step in typed(cfg.get(f'{split}_dataloader')):
                if type_name(step) in ('TopdownAffine', 'BottomupResize'):
                    return tuple(step['input_size'])[::-1]
        return self.default_size

    def passed_on(self, neck: dict, channels: Sequence) -> Optional[list]:
        """One neck selects and joins maps, another keeps their widths where it has none."""
        if type_name(neck) == 'FeatureMapProcessor':
            if neck.get('select_index') is not None:
                channels = [channels[index] for index in as_list(neck['select_index'])]
            return [sum(channels)] if neck.get('concat') else list(channels)
        if type_name(neck) == 'CSPNeXtPAFPN' and neck.get('out_channels') is None:
            return [channels[index] for index in neck.get('out_indices', range(len(channels)))]
        return None

    def dependent_values(self, part: dict, before: Sequence, after: Sequence) -> Iterator:
        """Groups of the first upsampling convolution, which must divide its channels."""
        groups = (part.get('head') or {}).get('deconv_num_groups')
        if groups and after[-1] % groups[0]:
            yield ('head', 'deconv_num_groups', 0), math.gcd(after[-1], groups[0])

    def inner_preprocessor(self, outer: dict) -> dict:
        """An estimator does not do without one."""
        return outer or dict(
            type='PoseDataPreprocessor', mean=IMAGENET['mean'], std=IMAGENET['std'])

    def make_samples(self, part: dict, size: tuple, num_images: int, device: str = 'cpu',
                     cfg: Optional[dict] = None) -> list:
        """Keypoints on the diagonal of the image, encoded as the training data's are."""
        from mmpose.registry import TRANSFORMS
        head, (height, width) = part['head'], size
        number = next((head[key] for key in ('num_joints', 'num_keypoints', 'out_channels')
                       if isinstance(head.get(key), int)), NUM_KEYPOINTS)
        encoding = _encoding(cfg) or dict(type='GenerateTarget', encoder=head['decoder'])
        encode, pack = (TRANSFORMS.build(step) for step in (encoding, dict(type='PackPoseInputs')))
        meta = dict(
            sample_meta(size), input_size=(width, height), flip_indices=list(range(number)),
            input_center=np.array([width, height]) / 2, input_scale=np.array([width, height]))
        samples = []
        for _ in range(num_images):
            annotation = _annotation(size, number)
            if type_name(encoding['encoder']) == 'DecoupledHeatmap':  # takes the corners of boxes
                annotation['bbox'] = annotation['bbox'][:, [0, 1, 2, 1, 2, 3, 0, 3]]
            sample = pack(encode(annotation))['data_samples'].to(device)
            sample.set_metainfo(meta)
            samples.append(sample)
        return samples

    def build_inferencer(self, cfg: Config, device: str) -> Any:
        """Pose2DInferencer on whole images: the detector that finds people is another model."""
        from mmpose.apis import Pose2DInferencer
        dataset = cfg.test_dataloader.dataset
        cfg.setdefault('dataset_type', dataset.type)
        cfg.setdefault('data_mode', dataset.get('data_mode', 'topdown'))
        return Pose2DInferencer(cfg, None, device, det_model='whole_image')

    def set_dataset_meta(self, inferencer: Any, meta: dict) -> None:
        """Its visualiser takes more from it than the names: the skeleton."""
        inferencer.model.dataset_meta = meta
        inferencer.visualizer.set_dataset_meta(meta)

    def infer(self, inferencer: Any, image: np.ndarray) -> Any:
        """Its batches come with the images as they were given."""
        batch, _ = next(iter(inferencer.preprocess([image], 1)))
        return inferencer.forward(batch)[0].cpu()

    def describe(self, inferencer: Any, rgb: np.ndarray, sample: Any,
                 classes: Optional[Sequence], score_thr: float) -> tuple:
        """The keypoints of each instance."""
        bgr = np.ascontiguousarray(rgb[..., ::-1])
        picture = inferencer.visualize([bgr], [sample], return_vis=True, kpt_thr=score_thr)[0]
        names = inferencer.model.dataset_meta['keypoint_id2name']
        found = sample.pred_instances
        instances = []
        for box, points, scores in zip(found.bboxes, found.keypoints, found.keypoint_scores):
            instances.append(dict(bbox=np.asarray(box).tolist(), keypoints=[
                dict(label=label, name=names[label], score=score, x=point[0], y=point[1])
                for label, (point, score) in enumerate(zip(points.tolist(), scores.tolist()))
                if score > score_thr]))
        return picture, dict(instances=instances), None


def _annotation(size: tuple, number: int) -> dict:
    """One instance with some number of keypoints, as the data sets give it."""
    height, width = size
    place = np.linspace(0.1, 0.9, number, dtype=np.float32)[None, :, None]
    return dict(
        img=np.zeros((height, width, 3), np.uint8),
        bbox=np.array([[0, 0, width, height]], np.float32),
        bbox_score=np.ones(1, np.float32),
        bbox_scale=np.array([[width, height]], np.float32),
        area=np.array([height * width], np.float32),
        category_id=[1],
        keypoints=place * np.array([width, height], np.float32),
        keypoints_visible=np.ones((1, number), np.float32),
        dataset_keypoint_weights=np.ones(number, np.float32))


def _encoding(cfg: Optional[dict]) -> Optional[dict]:
    """The step that makes what the model learns from keypoints; None where none is named."""
    return next((step for step in typed((cfg or {}).get('train_dataloader'))
                 if type_name(step) == 'GenerateTarget'), None)
