"""What a toolbox must answer. Everything else in this package works for any toolbox.

To add a toolbox, add one file to this folder: a subclass of :class:`Toolbox`, decorated with
:func:`register`. It imports its toolbox inside its methods, so that registering it loads nothing.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, Optional

import numpy as np
from mmengine import Config
from torch import nn

from ..cfg.heads import head_classes
from ..cfg.image_size import config_image_size
from ..cfg.tree import as_list, dicts_at, type_name
from ..errors import UserError
from ..fonts import use_font_for
from .parts import image_channels, noise
from .visualizer import reuse_axes

_REGISTERED = {}
PAIRED = 'pairs an image tower with a text tower; the two are trained to agree'


class Reader(NamedTuple):
    """A place in a model's config that holds the width of what a head reads from the backbone.

    Args:
        path (tuple): Where in the model's config the dict with the number lies.
        key (str): The number's key, such as 'in_channels'.
        name (str): What reads, for messages, such as 'its head RetinaHead'.
        by_index (bool): Whether ``in_index`` beside the number says which of the outputs is read.
            Otherwise that is told from the old widths. Defaults to False.
    """
    path: tuple
    key: str
    name: str
    by_index: bool = False


class Toolbox(ABC):
    """What is particular to one toolbox.

    Attributes:
        name (str): Its import name, which is the ``default_scope`` of its configs.
        package (str): What pip calls it.
        also (tuple[str]): Packages that it needs and does not declare.
        pip_options (tuple[str]): Options with which pip can install it.
        compiled (bool): Whether its models need mmcv's compiled operators.
        heads (tuple[str]): Keys of heads whose number of classes is that of the data set.
        exact_strides (bool): Whether the heads need maps at the very strides of the old backbone,
            as anchors and heat maps do. Otherwise a map of about the same depth will do.
        reads_last (bool): Whether a single output is pooled, so that any last map will do.
        default_size (tuple[int, int]): (height, width) in pixels where a config names no size.
        size_splits (tuple[str]): Whose pipelines say the size, the first that does.
        fixed_size (bool): Whether ``data_preprocessor.size`` is the size of every batch.
        load_step (str): The step that reads an image, by its name in a pipeline.
        loads_files (bool): Whether its inferencer needs that step in the pipeline.
        visualizer (str): Class that draws its predictions.
        coco_package (str, optional): Through what it reads COCO's files and evaluates on them;
            'pycocotools' or one like it, which prints.
        collate (str, optional): Function by which its loaders join samples, if not mmengine's
            own.
        bound_backbones, bound_models, bound_necks, bound_heads (dict[str, str]): Classes whose
            backbone cannot be exchanged, and why: the rest of a sentence that begins with their
            name.
    """
    name: str
    package: str
    also, pip_options = (), ()
    compiled = True
    heads = ('head', )
    exact_strides = False
    reads_last = False
    default_size = (224, 224)
    size_splits = ('test', 'val', 'train')
    fixed_size = False
    load_step = 'LoadImageFromFile'
    loads_files = True
    visualizer = 'Visualizer'
    coco_package = None
    collate = None
    bound_backbones, bound_models, bound_necks, bound_heads = {}, {}, {}, {}

    @property
    def installation(self) -> str:
        """The command that installs it."""
        return ' '.join(('pip install', *self.pip_options, self.package, *self.also))

    # Configs

    def image_size(self, cfg: Config) -> tuple:
        """(height, width) in pixels of the batch that a config's model gets, as far as it says."""
        return config_image_size(cfg, self.default_size, self.size_splits, self.fixed_size)

    def head_classes(self, cfg: Config) -> dict:
        """Numbers of classes of the heads by key, such as 'model.bbox_head.num_classes'."""
        return head_classes(cfg, self.heads)

    def complete_loader(self, cfg: Config, split: str) -> dict:
        """The config of a loader, changed in place, with what mmengine's runner needs beyond it."""
        loader = cfg[f'{split}_dataloader']
        if self.collate:  # as the toolbox's own scripts do
            loader.setdefault('collate_fn', dict(type=self.collate))
        if loader.get('num_workers') == 0:  # PyTorch refuses the combination
            loader.persistent_workers = False
        return loader

    # Exchange of the backbone

    def is_classifier(self, part: dict) -> bool:
        """Whether a model pools the last output: its neck and head need one width only."""
        return False

    def readers(self, part: dict) -> Iterator:
        """The widths that the heads of a model without a neck read.

        Args:
            part (dict): The part of the model's config that has the backbone.

        Yields:
            Reader: For each number.
        """
        for key in part:
            for path, head in dicts_at(part, key) if key.endswith('head') else ():
                if 'in_channels' in head:
                    yield Reader(path, 'in_channels', f'its head {type_name(head)}')

    def passed_on(self, neck: dict, channels: Sequence) -> Optional[list]:
        """What heads get through a neck that passes on maps of the backbone.

        Args:
            neck (dict): The first neck of a model's config.
            channels (Sequence[int]): Of the backbone's outputs.

        Returns:
            list[int] | None: Channels; None where the neck gives maps of a width of its own.
        """
        return None

    def dependent_values(self, part: dict, before: Sequence, after: Sequence) -> Iterator:
        """Other entries of a model's config that depend on the backbone's widths.

        Args:
            part (dict): The part of the model's config that has the backbone.
            before (Sequence[int]): Channels of the old backbone's outputs.
            after (Sequence[int]): Of the new one's.

        Yields:
            tuple[tuple, Any]: Path of an entry in the part, and its new value.
        """
        return iter(())

    def rgb_key(self, preprocessor: dict) -> str:
        """The key by which a data preprocessor turns BGR into RGB."""
        return 'bgr_to_rgb'

    def inner_preprocessor(self, outer: dict) -> dict:
        """What stands in for the preprocessor of a model that has none.

        Args:
            outer (dict): That of the model around it, or of the whole config; {} for none.
        """
        return outer

    # Noise

    @abstractmethod
    def make_samples(self, part: dict, size: tuple, num_images: int, device: str = 'cpu',
                     cfg: Optional[dict] = None) -> list:
        """Describe images to a model, with made-up truth to learn.

        Args:
            part (dict): The part of the model's config that has the backbone.
            size (tuple[int, int]): (height, width) in pixels.
            num_images (int): How many.
            device (str | torch.device): Where the truth is put. Defaults to 'cpu'.
            cfg (dict, optional): The whole config, which may say what truth is loaded. Defaults
                to None, all that there is.

        Returns:
            list: One of the toolbox's samples for each image.
        """

    def make_batch(self, part: dict, size: tuple, num_images: int = 2,
                   cfg: Optional[dict] = None) -> dict:
        """Images of noise with made-up truth, as a data preprocessor takes them.

        Args:
            part (dict): As for :meth:`make_samples`.
            size (tuple[int, int]): (height, width) in pixels.
            num_images (int): Defaults to 2.
            cfg (dict, optional): As for :meth:`make_samples`. Defaults to None.

        Returns:
            dict: ``inputs``, images (C, H, W) of uint8, and ``data_samples``.
        """
        samples = self.make_samples(part, size, num_images, cfg=cfg)
        return dict(inputs=noise(size, len(samples), image_channels(part)), data_samples=samples)

    def forward(self, model: nn.Module, part: dict, batch: dict) -> Any:
        """Predict on a batch that went through the data preprocessor."""
        return model(**batch, mode='predict')

    # Test

    def draw_predictions(self, cfg: Config, hook: dict, folder: Optional[str]) -> None:
        """Have the visualisation hook draw each image that is tested.

        Args:
            cfg (Config): Changed in place.
            hook (dict): Its ``default_hooks.visualization``, changed in place.
            folder (str, optional): Absolute path to write to.
        """
        hook.update(enable=True, out_dir=folder)
        hook.setdefault('interval', 1)

    def augment_at_test_time(self, cfg: Config, pipeline: Sequence) -> tuple:
        """How predictions on augmented copies are averaged, where the config does not say.

        Args:
            cfg (Config): Left as it is.
            pipeline (list[dict]): Of the test data.

        Returns:
            tuple[dict, list[dict]]: ``tta_model`` and ``tta_pipeline``.

        Raises:
            UserError: If the toolbox cannot average them.
        """
        raise UserError('--tta needs tta_model and tta_pipeline in the config: '
                        f'{self.name} has no default')

    def check_tta(self, cfg: Config) -> None:
        """Refuse a model whose predictions on augmented copies cannot be averaged.

        Raises:
            UserError: If so.
        """
        return

    def keep_predictions(self, cfg: Config, out: str) -> None:
        """Have the evaluators write the predictions, into a pickle file unless overridden.

        Raises:
            UserError: If ``out`` does not end as the toolbox expects.
        """
        if not out.endswith(('.pkl', '.pickle')):
            raise UserError(f'--out must end in .pkl or .pickle for this config, got {out}')
        cfg.test_evaluator = [*as_list(cfg.test_evaluator), self._dump(out)]

    def has_labels(self, dataset: dict) -> bool:
        """Whether the samples of a data set's config bring labels, where the metrics need them."""
        return True

    def keep_writing(self, metrics: Sequence) -> list:
        """The metrics that write predictions, without judging them."""
        return [metric for metric in metrics
                if metric.get('format_only') or type_name(metric).startswith('Dump')]

    def _dump(self, out: str) -> dict:
        return dict(type='DumpResults', out_file_path=out)

    # Prediction on files

    @abstractmethod
    def build_inferencer(self, cfg: Config, device: str) -> Any:
        """The toolbox's own inferencer, with random weights.

        Loading would list what does not fit before it is judged.
        """

    def set_dataset_meta(self, inferencer: Any, meta: dict) -> None:
        """Tell an inferencer the names and colours of the data set that the model was trained on.

        Args:
            inferencer (Any): From :meth:`build_inferencer`.
            meta (dict): 'classes' and 'palette', None where they are not known, and what else the
                data set says.
        """
        names = {key: meta[key] for key in ('classes', 'palette')}
        inferencer.model.dataset_meta = names
        if inferencer.visualizer is not None:
            inferencer.visualizer.dataset_meta = names

    def drawable_names(self, classes: Sequence) -> tuple:
        """Names of classes as pictures can show them.

        Args:
            classes (Sequence[str]): The names.

        Returns:
            tuple[Sequence[str], str | None]: What to draw, and what to tell of what it cannot show.
        """
        return classes, use_font_for(classes)

    def hasten_drawing(self, visualizer: Any) -> None:
        """Let a visualiser draw the same pictures in less time."""
        reuse_axes(visualizer)

    def infer(self, inferencer: Any, image: np.ndarray) -> Any:
        """The sample that a model predicts on one image.

        Args:
            inferencer (Any): From :meth:`build_inferencer`.
            image (np.ndarray): (H, W, 3), uint8, BGR.
        """
        batch = next(iter(inferencer.preprocess([image], 1)))
        return inferencer.forward(batch)[0].cpu()

    @abstractmethod
    def describe(self, inferencer: Any, rgb: np.ndarray, sample: Any,
                 classes: Optional[Sequence], score_thr: float) -> tuple:
        """Draw a prediction and say it as JSON can.

        Args:
            inferencer (Any): From :meth:`build_inferencer`.
            rgb (np.ndarray): The image, (H, W, 3), uint8.
            sample (Any): From :meth:`infer`.
            classes (Sequence[str], optional): Their names, None where they are not known.
            score_thr (float): Instances that score less are left out.

        Returns:
            tuple[np.ndarray, dict, np.ndarray | None]: The picture, (H, W, 3), RGB; what was
            predicted; a segmentor's class indices, (H, W).

        Raises:
            UserError: If the model predicts nothing of what is drawn here.
        """


def register(cls: type) -> type:
    """Make a toolbox known by its name; one that is there gives way."""
    _REGISTERED[cls.name] = cls()
    return cls


def names() -> tuple:
    """Names of the toolboxes that are known."""
    return tuple(_REGISTERED)


def own_configs() -> str:
    """How the configs that the toolboxes carry are named, for help texts."""
    return ', '.join(f'{name}::…' for name in names())


def get_toolbox(name: str) -> Toolbox:
    """The toolbox of a name.

    Raises:
        UserError: If there is none.
    """
    if name not in _REGISTERED:
        raise UserError(f'the config must set default_scope to one of {", ".join(names())}, '
                        f'got {name!r}')
    return _REGISTERED[name]
