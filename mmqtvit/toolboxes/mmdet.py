"""MMDetection."""

from collections.abc import Iterator, Sequence
from typing import Any, Optional

import numpy as np
import torch
from mmengine import Config

from ..cfg.tree import dicts_at, type_name, typed
from ..errors import UserError
from .base import PAIRED, Reader, Toolbox, register
from .parts import class_name, flip_pipeline, noise, num_classes_of, sample_meta

NUM_INSTANCES = 4  # in a made-up image, two by two
SEMANTIC_STRIDE = 8  # of the label maps that an RoI head's semantic branch reads
#: What TTA needs to know to flip a box back.
META_KEYS = ('img_id', 'img_path', 'ori_shape', 'img_shape', 'scale_factor', 'flip',
             'flip_direction')


@register
class MMDetection(Toolbox):
    """Detectors, and the trackers and wrappers around them. Anchors depend on strides."""

    name = package = 'mmdet'
    heads = ('bbox_head', 'mask_head')
    exact_strides = True
    visualizer = 'DetLocalVisualizer'
    coco_package = 'pycocotools'
    default_size = (800, 1333)
    bound_backbones = {
        'TridentResNet': 'returns three dilations stacked in the batch, which only its own heads '
                         'read',
    }
    bound_models = {'GLIP': PAIRED, 'GroundingDINO': PAIRED}
    bound_necks = {'RFP': 'runs a second copy of the backbone on its own outputs'}

    def readers(self, part: dict) -> Iterator:
        """The heads of a detector without neck; RoI heads read through their RoI extractors."""
        yield from super().readers(part)
        roi_head = part.get('roi_head') or {}
        for name in roi_head:
            key = 'out_channels' if name.endswith('roi_extractor') else 'in_channels'
            for path, node in dicts_at(roi_head, name):
                if key in node:
                    yield Reader(('roi_head', *path), key, f'its {name}')

    def dependent_values(self, part: dict, before: Sequence, after: Sequence) -> Iterator:
        """SSD's neck passes on the backbone's maps and adds smaller ones."""
        neck = part.get('neck')
        if type_name(neck) == 'SSDNeck':
            widths = neck['out_channels']
            widths = type(widths)([*after, *widths[len(before):]])
            yield ('neck', 'out_channels'), widths
            yield ('bbox_head', 'in_channels'), widths

    def rgb_key(self, preprocessor: dict) -> str:
        """The one of re-identification is named as classifiers' are."""
        return 'to_rgb' if type_name(preprocessor) == 'ReIDDataPreprocessor' else 'bgr_to_rgb'

    def inner_preprocessor(self, outer: dict) -> dict:
        """A tracker's takes videos, and a semi-supervised detector's several branches."""
        taken = ('mean', 'std', 'bgr_to_rgb', 'pad_size_divisor')
        return dict(type='DetDataPreprocessor',
                    **{key: outer[key] for key in taken if key in outer})

    def make_samples(self, part: dict, size: tuple, num_images: int, device: str = 'cpu',
                     cfg: Optional[dict] = None) -> list:
        """Four boxes of the classes in turn, with masks where the data have such."""
        from mmdet.structures import DetDataSample
        from mmengine.structures import InstanceData, PixelData
        roi_head = part.get('roi_head') or {}
        semantic = any(key in {**part, **roi_head} for key in ('semantic_head', 'panoptic_head'))
        stride = SEMANTIC_STRIDE if roi_head.get('semantic_head') else 1
        num_classes = num_classes_of(part)
        samples = []
        for _ in range(num_images):
            sample = DetDataSample(metainfo=dict(sample_meta(size), border=(0, 0, 0, 0)))
            sample.gt_instances = _instances(
                size, num_classes, cfg is None or loads_masks(cfg, part), device)
            sample.ignored_instances = InstanceData(
                bboxes=torch.zeros(0, 4, device=device),
                labels=torch.zeros(0, dtype=torch.long, device=device))
            if semantic:
                height, width = (side // stride for side in size)
                labels = torch.arange(width, device=device) * num_classes // width
                sample.gt_sem_seg = PixelData(sem_seg=labels.repeat(1, height, 1))
            if roi_head and not part.get('rpn_head'):  # Fast R-CNN reads proposals from files
                boxes = sample.gt_instances.bboxes
                sample.proposals = InstanceData(
                    bboxes=boxes, scores=torch.ones(len(boxes), device=device))
            samples.append(sample)
        return samples

    def make_batch(self, part: dict, size: tuple, num_images: int = 2,
                   cfg: Optional[dict] = None) -> dict:
        """Of a video tracker two frames; for re-identification pairs of images."""
        if type_name(part) == 'BaseReID':
            return _identities(size, num_images)
        if type_name(part).endswith('Video'):
            from mmdet.testing import demo_track_inputs
            return demo_track_inputs(
                batch_size=1, num_frames=2, key_frames_inds=[0], image_shapes=[(3, *size)],
                num_classes=num_classes_of(part),
                with_mask=cfg is None or loads_masks(cfg, part))
        return super().make_batch(part, size, num_images, cfg)

    def draw_predictions(self, cfg: Config, hook: dict, folder: Optional[str]) -> None:
        """Into ``test_out_dir``."""
        hook.update(draw=True)
        if folder:
            hook.update(test_out_dir=folder)

    def check_tta(self, cfg: Config) -> None:
        """Boxes are merged, masks are not.

        Raises:
            UserError: If the model predicts masks.
        """
        roi_head = cfg.model.get('roi_head') or {}
        if 'mask_head' in cfg.model or 'mask_head' in roi_head:
            raise UserError(
                f'--tta: {self.name} merges boxes only, and this model predicts masks too')

    def augment_at_test_time(self, cfg: Config, pipeline: Sequence) -> tuple:
        """The boxes of an image and its mirror image, through non-maximum suppression."""
        tta_cfg = dict(nms=dict(type='nms', iou_threshold=0.5), max_per_img=100)
        return dict(type='DetTTAModel', tta_cfg=tta_cfg), flip_pipeline(pipeline, META_KEYS)

    def _dump(self, out: str) -> dict:
        return dict(type='DumpDetResults', out_file_path=out)

    def build_inferencer(self, cfg: Config, device: str) -> Any:
        """DetInferencer."""
        from mmdet.apis import DetInferencer
        return DetInferencer(cfg, None, device, show_progress=False)

    def infer(self, inferencer: Any, image: np.ndarray) -> Any:
        """Its batches come with the images as they were given."""
        _, batch = next(iter(inferencer.preprocess([image], 1)))
        return inferencer.forward(batch)[0].cpu()

    def describe(self, inferencer: Any, rgb: np.ndarray, sample: Any,
                 classes: Optional[Sequence], score_thr: float) -> tuple:
        """Boxes, and masks where there are any."""
        if 'pred_instances' not in sample:
            raise UserError('this detector predicts no instances but '
                            f'{", ".join(sample.keys()) or "nothing"}, which is not drawn here')
        sample.pred_instances = sample.pred_instances[sample.pred_instances.scores > score_thr]
        picture = inferencer.visualize(
            [rgb], [sample], return_vis=True, pred_score_thr=score_thr)[0]
        found = inferencer.pred2dict(sample)
        instances = []
        for index, (label, score) in enumerate(zip(found['labels'], found['scores'])):
            instance = dict(label=label, name=class_name(classes, label), score=score,
                            bbox=found['bboxes'][index])
            if 'masks' in found:
                instance['mask'] = found['masks'][index]
            instances.append(instance)
        return picture, dict(instances=instances), None


def loads_masks(cfg: dict, part: dict) -> bool:
    """Whether the training data of a detector have masks.

    Args:
        cfg (dict): The whole config. Without training data the preprocessor decides.
        part (dict): The detector's part of it.
    """
    if not cfg.get('train_dataloader'):
        return bool((part.get('data_preprocessor') or {}).get('pad_mask'))
    return any(step.get('with_mask', type_name(step) == 'LoadPanopticAnnotations')
               for step in typed(cfg['train_dataloader'])
               if type_name(step).endswith('Annotations'))


def _instances(size: tuple, num_classes: int, with_mask: bool, device: str) -> Any:
    from mmdet.structures.mask import BitmapMasks
    from mmengine.structures import InstanceData
    height, width = size
    boxes, masks = [], np.zeros((NUM_INSTANCES, height, width), np.uint8)
    for index in range(NUM_INSTANCES):
        top, left = index // 2 * height // 2, index % 2 * width // 2
        bottom, right = top + height // 3, left + width // 3
        boxes.append([left, top, right, bottom])
        masks[index, top:bottom, left:right] = 1
    instances = InstanceData(
        bboxes=torch.tensor(boxes, dtype=torch.float32, device=device),
        labels=torch.arange(NUM_INSTANCES, device=device) % num_classes)
    if with_mask:
        instances.masks = BitmapMasks(masks, height, width)
    return instances


def _identities(size: tuple, num_images: int) -> dict:
    from mmdet.structures import ReIDDataSample
    samples = []
    for index in range(2 * num_images):  # two identities, which a triplet loss compares
        sample = ReIDDataSample(metainfo=dict(img_shape=size))
        samples.append(sample.set_gt_label(index % 2))
    return dict(inputs=noise(size, len(samples)), data_samples=samples)
