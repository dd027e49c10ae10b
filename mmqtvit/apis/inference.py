"""Predicts on image files through the toolboxes' own inferencers."""

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Optional

import cv2
import numpy as np
from mmengine import Config
from mmengine.registry import DATASETS, TRANSFORMS, init_default_scope
from tqdm import tqdm

from ..cfg.build import explained
from ..cfg.datasets import dataset_leaves
from ..cfg.device import adapt_to_device, usable_device
from ..cfg.tree import type_name
from ..engine.deployed import deployed
from ..errors import UserError, say
from ..terminal import quiet, quiet_toolbox
from ..toolboxes import Toolbox, require_toolbox
from ..weights.read import read_checkpoint
from ..weights.safe_load import allow_openmmlab_checkpoints
from .checkpoint import check_match, translate
from .distinct_names import distinct_stems
from .images import UnreadableImage, as_picture, read_image
from .test_options import use_visualizer

#: Options of a loading step that say where the files of a data set lie; those predicted on are
#: here.
REMOTE = ('backend_args', 'file_client_args')


class Predictor:
    """A model with its toolbox's inferencer around it.

    Args:
        cfg (Config): As from :func:`load_config`; changed in place.
        checkpoint (str): A checkpoint that training wrote, or the like.
        device (str, optional): Such as 'cpu' or 'cuda:1'. Defaults to None, the best there is.
        score_thr (float): Instances that score less are left out. Defaults to 0.3.
        plain (bool): Whether to run the model as it was trained, and not in its deploy form, see
            :func:`mmqtvit.deploy`. Defaults to False.

    Raises:
        UserError: If the checkpoint, the toolbox or the device are missing or unfit, or the config
            does not build.
    """

    def __init__(self,
                 cfg: Config,
                 checkpoint: str,
                 device: Optional[str] = None,
                 score_thr: float = 0.3,
                 plain: bool = False) -> None:
        self.toolbox, self.score_thr = require_toolbox(cfg), score_thr
        weights = read_checkpoint(checkpoint)
        device = str(usable_device(device))
        load = _take_loading_step(cfg, self.toolbox)
        adapt_to_device(cfg, training=False)
        use_visualizer(cfg)
        cfg.visualizer.vis_backends = []  # a picture is returned, and nothing sent elsewhere
        init_default_scope(self.toolbox.name)
        silent = quiet_toolbox(self.toolbox.coco_package)
        with allow_openmmlab_checkpoints(), silent, explained(cfg):
            self.load = TRANSFORMS.build(load)
            with quiet():  # they warn of random weights, in place of which others come below
                self.inferencer = self.toolbox.build_inferencer(cfg, device)
            meta = dataset_meta(cfg, weights)
        translated = translate(self.inferencer.model, weights, checkpoint, training=False)
        state_dict = (translated[0] if translated else
                      check_match(self.inferencer.model, weights, checkpoint, training=False))
        self.inferencer.model.load_state_dict(state_dict, strict=False)
        self.classes = meta.get('classes')
        number = max(self.toolbox.head_classes(cfg).values(), default=0)
        if self.classes and len(self.classes) < number:
            raise UserError(f'{checkpoint} or the data set names {len(self.classes)} classes, the '
                            f'model of the config has {number}')
        if not plain:
            self.inferencer.model = deployed(self.inferencer.model, print)
        if self.classes:
            meta['classes'], note = self.toolbox.drawable_names(self.classes)
            if note:
                say(f'warning: {note}')
        self.toolbox.set_dataset_meta(self.inferencer, meta)
        if self.inferencer.visualizer is not None:
            self.toolbox.hasten_drawing(self.inferencer.visualizer)

    def __call__(self, image: np.ndarray) -> tuple:
        """Predict on one image.

        Args:
            image (np.ndarray): (H, W) or (H, W, C), as :attr:`load` gives it.

        Returns:
            tuple[np.ndarray, dict, np.ndarray | None]: The picture, (H, W, 3), RGB; what was
            predicted, as JSON can hold it; a segmentor's class indices, (H, W).

        Raises:
            UserError: If the model predicts nothing of what is drawn here.
        """
        sample = self.toolbox.infer(self.inferencer, image)
        picture, predicted, labels = self.toolbox.describe(
            self.inferencer, as_picture(image), sample, self.classes, self.score_thr)
        return picture, dict(height=image.shape[0], width=image.shape[1], **predicted), labels


def predict(predictor: Predictor, images: Sequence, out: Path) -> tuple:
    """Predict on files and write a picture and a JSON file for each, with a progress bar.

    A segmentor's class indices go into a PNG file too. Files that cannot be read are skipped.

    Args:
        predictor (Predictor): The model.
        images (Sequence[Path]): From :func:`find_images`.
        out (Path): Folder; made if it is not there.

    Returns:
        tuple[dict, dict]: By path of the image why it was skipped, and what is wrong with one that
        was read all the same.

    Raises:
        UserError: If a picture would replace one of the images, or cannot be written, or the model
            fails on every image.
    """
    targets = output_stems(images, out)
    skipped, noted, failures = {}, {}, []
    try:
        Path(out).mkdir(parents=True, exist_ok=True)
        for path, target in tqdm(list(zip(images, targets)), desc='predicting', unit='image'):
            try:
                image, wrong = read_image(path, predictor.load)
                _write(predictor(image), path, target)
            except UnreadableImage as reason:
                skipped[path] = str(reason)
            except (OSError, UserError):
                raise
            except Exception as error:  # of models, drawing and memory, on images of odd sizes
                text = str(error).strip().split('\n')[0]
                skipped[path] = f'{type(error).__name__}: {text}'
                failures.append(skipped[path])
            else:
                if wrong:
                    noted[path] = wrong
    except OSError as error:
        raise UserError(f'cannot write into {out}: {error}') from error
    if failures and len(skipped) == len(images):
        raise UserError(f'the model of the config fails on every image: {failures[0]}')
    return skipped, noted


def _write(predicted: tuple, path: Path, target: Path) -> None:
    picture, record, labels = predicted
    _write_image(target.with_name(f'{target.name}.jpg'), picture[..., ::-1])
    if labels is not None:
        label_map = target.with_name(f'{target.name}_labels.png')
        _write_image(label_map, labels.astype(np.uint8 if labels.max() < 256 else 'uint16'))
        record['label_map'] = label_map.name
    record = dict(image=str(path), **record)
    text = json.dumps(record, indent=1, ensure_ascii=False)
    target.with_name(f'{target.name}.json').write_text(text, encoding='utf-8')


def output_stems(images: Sequence, out: Path) -> list:
    """Paths without suffix for what is predicted on each image, see :func:`distinct_stems`.

    Raises:
        UserError: If some of the images are in the folder: pictures might replace them, and JSON
            files the annotations beside them.
    """
    for path in images:
        if Path(path).resolve().parent == Path(out).resolve():
            raise UserError(f'--out {out} is the folder of the image {path}, which or whose '
                            'annotation might be replaced; name another folder')
    return [Path(out, stem) for stem in distinct_stems(images).values()]


def dataset_meta(cfg: Config, checkpoint: dict) -> dict:
    """Class names, palette and what else is said of a data set.

    It comes from the checkpoint, else from the config's test data set.

    Args:
        cfg (Config): One with a test data set.
        checkpoint (dict): As :func:`read_checkpoint` returns it.

    Returns:
        dict: 'classes' and 'palette' among others, None where neither has them.
    """
    dataset = dict(cfg.test_dataloader.dataset, pipeline=[], lazy_init=True)
    own = DATASETS.build(dataset).metainfo
    meta = checkpoint.get('meta')
    kept = meta.get('dataset_meta') if isinstance(meta, dict) else None
    kept = {key.lower(): value for key, value in kept.items()} if isinstance(kept, dict) else {}
    classes = kept.get('classes') or own.get('classes')
    palettes = (own.get('palette'), kept.get('palette'))
    fitting = [palette for palette in palettes
               if palette is not None and (classes is None or len(palette) == len(classes))]
    # mmdet takes a colour that is a list for a list of colours.
    palette = list(map(tuple, fitting[0])) if fitting else None
    return {**own, **kept, 'classes': classes, 'palette': palette}


def _take_loading_step(cfg: Config, toolbox: Toolbox) -> dict:
    """Leave of the test data its first set alone, whose pipeline the inferencers take.

    Returns:
        dict: The step of the pipeline that reads images. The inferencers get arrays, so a plain one
        takes its place.
    """
    dataset = (cfg.get('test_dataloader') or {}).get('dataset')
    leaves = [leaf for _, leaf in dataset_leaves(dataset, 'test_dataloader.dataset')]
    if not leaves or not leaves[0].get('pipeline'):
        raise UserError('the config must have test_dataloader.dataset.pipeline, by which images '
                        'are prepared for the model')
    cfg.test_dataloader.dataset, found = leaves[0], dict(type=toolbox.load_step)
    for index, step in enumerate(leaves[0].pipeline):
        if re.match('Load.*Image', type_name(step)):
            leaves[0].pipeline[index] = dict(type=toolbox.load_step)
            found = {key: value for key, value in step.items() if key not in REMOTE}
        elif type_name(step) in ('LoadAnnotations', 'LoadDepthAnnotation'):
            step.type = type_name(step)  # the inferencers look for them by these names
    steps = [type_name(step) for step in leaves[0].pipeline]
    if toolbox.loads_files and toolbox.load_step not in steps:
        raise UserError('test_dataloader.dataset.pipeline must have the step '
                        f'{toolbox.load_step}, it has {", ".join(steps)}')
    if not isinstance(cfg.get('model'), dict):
        raise UserError(f'the config must have a model, got model={cfg.get("model")}')
    return found


def _write_image(path: Path, image: np.ndarray) -> None:
    try:
        written, encoded = cv2.imencode(path.suffix, image)
    except cv2.error:
        written = False
    if not written:
        height, width = image.shape[:2]
        raise ValueError(f'{width}×{height} pixels cannot be written as {path.suffix}')
    path.write_bytes(encoded.tobytes())
