"""MMSegmentation."""

import re
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, Optional

import numpy as np
import torch
from mmengine import Config

from ..backbones.zoo import IMAGENET
from ..cfg.tree import as_list, dicts_at, type_name
from ..errors import UserError
from .base import Reader, Toolbox, register
from .parts import class_name, num_classes_of, sample_meta

BRANCHES = 'has branches of its own, which its heads and auxiliary losses are written for'
DECODER = 'has a decoder of its own, which would be lost with it'
OPACITY = 0.6  # of the classes' colours over the image
BLOCK = 8  # pixels a side of one class in made-up label maps


@register
class MMSegmentation(Toolbox):
    """Segmentors. Their heads ask for maps of some depth, not for a stride."""

    name = 'mmseg'
    package = 'mmsegmentation'
    also = ('ftfy', 'regex')
    heads = ('decode_head', )
    default_size = (512, 512)
    size_splits = ('train', 'test')  # the crop comes first: larger images are cut into such
    fixed_size = True
    visualizer = 'SegLocalVisualizer'
    bound_backbones = {
        'BiSeNetV1': BRANCHES,
        'BiSeNetV2': BRANCHES,
        'DDRNet': BRANCHES,
        'FastSCNN': BRANCHES,
        'ICNet': BRANCHES,
        'PIDNet': BRANCHES,
        'STDCContextPathNet': BRANCHES,
        'CGNet': 'ends at stride 8 by design: it is the whole segmentor except the classifier',
        'ERFNet': DECODER,
        'UNet': DECODER,
        'VPD': 'is a text-conditioned diffusion model',
    }
    bound_necks = {
        'MLANeck': 'adds up maps of one size, and the new ones have four sizes',
        'ICNeck': BRANCHES,
    }
    bound_heads = {'DPTHead': 'reads the class token beside the patches'}

    def readers(self, part: dict) -> Iterator:
        """The decode and auxiliary heads, and the heads inside them that read the backbone."""
        for key in ('decode_head', 'auxiliary_head'):
            for path, head in dicts_at(part, key):
                inside = [((*path, name), child) for name, child in head.items()
                          if isinstance(child, dict) and 'in_index' in child]
                for place, node in ([(path, head)] if 'in_channels' in head else []) + inside:
                    yield Reader(place, 'in_channels', f'its head {type_name(node)}',
                                 by_index=True)

    def passed_on(self, neck: dict, channels: Sequence) -> Optional[list]:
        """JPU passes on all maps but the last."""
        if type_name(neck) != 'JPU':
            return None
        width = neck.get('mid_channels', 512) * len(neck.get('dilations', (1, 2, 4, 8)))
        return [*channels[neck.get('start_level', 0):-1], width]

    def inner_preprocessor(self, outer: dict) -> dict:
        """A segmentor does not do without one."""
        return outer or dict(type='SegDataPreProcessor', size_divisor=32, mean=IMAGENET['mean'],
                             std=IMAGENET['std'])

    def make_samples(self, part: dict, size: tuple, num_images: int, device: str = 'cpu',
                     cfg: Optional[dict] = None) -> list:
        """Label maps of blocks of all classes in turn."""
        from mmengine.structures import PixelData
        from mmseg.structures import SegDataSample
        rows, columns = (torch.arange(side, device=device) // BLOCK for side in size)
        label = (rows[:, None] + columns)[None] % num_classes_of(part)
        samples = [SegDataSample(metainfo=sample_meta(size)) for _ in range(num_images)]
        for sample in samples:
            sample.gt_sem_seg = PixelData(data=label.clone())
        return samples

    def draw_predictions(self, cfg: Config, hook: dict, folder: Optional[str]) -> None:
        """Draw through the visualiser, whose folder the hook does not set."""
        hook.update(draw=True)
        hook.setdefault('interval', 1)  # its own default draws one image in 50
        # It asks for the iteration of training, and mmengine would build the training data to
        # answer.
        for key in ('train_dataloader', 'train_cfg', 'optim_wrapper', 'param_scheduler'):
            cfg[key] = None
        if folder:
            cfg.visualizer.save_dir = folder
            backends = as_list(cfg.visualizer.get('vis_backends'))
            if not any(type_name(backend) == 'LocalVisBackend' for backend in backends):
                cfg.visualizer.vis_backends = [*backends, dict(type='LocalVisBackend')]

    def check_tta(self, cfg: Config) -> None:
        """A segmentor has no default.

        Raises:
            UserError: If the config has no TTA of its own.
        """
        if not ('tta_model' in cfg and 'tta_pipeline' in cfg):
            raise UserError('--tta needs tta_model and tta_pipeline in a segmentation config')

    def keep_predictions(self, cfg: Config, out: str) -> None:
        """Write label maps into a folder."""
        cfg.test_evaluator = as_list(cfg.test_evaluator)
        for metric in cfg.test_evaluator:
            metric.update(output_dir=out, keep_results=True)

    def has_labels(self, dataset: dict) -> bool:
        """Whether its pipeline loads more than images."""
        loads = [type_name(step) for step in dataset.get('pipeline') or ()
                 if type_name(step).startswith('Load')]
        return not loads or any(not re.fullmatch('Load.*ImageFromFile', name) for name in loads)

    def keep_writing(self, metrics: Sequence) -> list:
        """Its metrics write label maps themselves."""
        return super().keep_writing(
            [{**metric, 'format_only': True} if metric.get('output_dir') else metric
             for metric in metrics])

    def build_inferencer(self, cfg: Config, device: str) -> Any:
        """MMSegInferencer."""
        from mmseg.apis import MMSegInferencer
        return MMSegInferencer(cfg, None, device=device)

    def hasten_drawing(self, visualizer: Any) -> None:
        """Spare its own visualiser what takes most of the time of a picture.

        It hands each finished picture to matplotlib and takes it back, and sorts the pixels of each
        class to find a place for the name.
        """
        super().hasten_drawing(visualizer)
        from mmseg.visualization import SegLocalVisualizer
        if type(visualizer) is SegLocalVisualizer:  # others may draw by matplotlib
            visualizer.set_image = partial(setattr, visualizer, '_image')
            visualizer.get_image = partial(getattr, visualizer, '_image')
            visualizer._get_center_loc = middle_of_widest_row

    def drawable_names(self, classes: Sequence) -> tuple:
        """It draws by OpenCV, whose font has ASCII alone: numbers stand for other names."""
        drawn = [name if name.isascii() else str(label) for label, name in enumerate(classes)]
        replaced = [f'{number} for {name}' for number, name in zip(drawn, classes)
                    if number != name]
        if not replaced:
            return drawn, None
        return drawn, (f'{self.name} draws by OpenCV, whose font has ASCII characters alone; '
                       f'pictures show {", ".join(replaced)}')

    def describe(self, inferencer: Any, rgb: np.ndarray, sample: Any,
                 classes: Optional[Sequence], score_thr: float) -> tuple:
        """The classes that occur, the most frequent first."""
        if 'pred_sem_seg' not in sample:
            raise UserError('this segmentor predicts no classes but '
                            f'{", ".join(sample.keys()) or "nothing"}, which is not drawn here')
        picture = inferencer.visualize([rgb], [sample], return_vis=True, opacity=OPACITY)[0]
        labels = sample.pred_sem_seg.data[0].numpy()
        values, pixels = np.unique(labels, return_counts=True)
        found = [dict(label=int(value), name=class_name(classes, value),
                      fraction=count / labels.size)
                 for value, count in sorted(zip(values, pixels), key=lambda pair: -pair[1])]
        return picture, dict(classes=found), labels


def middle_of_widest_row(mask: np.ndarray) -> np.ndarray:
    """x and y of the middle pixel in the first row that has most pixels of a mask (H, W)."""
    y = np.count_nonzero(mask, axis=1).argmax()
    columns = np.flatnonzero(mask[y])
    return np.array([columns[len(columns) // 2], y])
