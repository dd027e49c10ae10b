"""Writes drawn scenes in ADE20K's and COCO's layouts at the same time."""

import json
from pathlib import Path

import cv2
import numpy as np
from tqdm import tqdm

from .scenes import SHAPES, draw_scene

SPLITS = {'training': 'train2017', 'validation': 'val2017'}
ENLARGE = 4  # contours are traced on the mask at this scale, to follow the pixels' borders


def polygon(mask: np.ndarray) -> list:
    """Outline of a region in one piece without holes.

    Args:
        mask (np.ndarray): (H, W), bool.

    Returns:
        list[float]: x and y in turn, in pixels, as COCO has it.
    """
    large = np.kron(mask.astype(np.uint8), np.ones((ENLARGE, ENLARGE), np.uint8))
    contours, _ = cv2.findContours(large, cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_SIMPLE)
    points = (contours[0].reshape(-1, 2) + 0.5) / ENLARGE
    return [round(float(number), 3) for number in points.reshape(-1)]


def annotation(mask: np.ndarray, category_id: int, image_id: int, annotation_id: int) -> dict:
    """COCO's record of one instance."""
    rows, columns = np.where(mask)
    x, y = int(columns.min()), int(rows.min())
    return dict(
        id=annotation_id,
        image_id=image_id,
        category_id=category_id,
        bbox=[x, y, int(columns.max()) + 1 - x, int(rows.max()) + 1 - y],
        area=int(mask.sum()),
        iscrowd=0,
        segmentation=[polygon(mask)])


def _write_image(path: Path, image: np.ndarray) -> None:
    if not cv2.imwrite(str(path), image):
        raise OSError(f'could not write {path}')


def _clear(folder: Path, split: str) -> None:
    """Make a folder, without the scenes of an earlier call: mmseg reads all that lie in it."""
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob(f'{split}_[0-9]*.*'):
        old.unlink()


def _write_split(root: Path, split: str, count: int, size: int, seed: int) -> None:
    images = root / 'ade20k' / 'images' / split
    labels = root / 'ade20k' / 'annotations' / split
    coco_images = root / 'coco' / SPLITS[split]
    for folder in (images, labels, coco_images, root / 'coco' / 'annotations'):
        _clear(folder, split)
    coco = dict(
        info=dict(description=f'scenes drawn by mmqtvit, seed {seed}'),
        images=[],
        annotations=[],
        categories=[dict(id=i, name=name) for i, name in enumerate(SHAPES, start=1)])
    # Every split and scene has a stream of its own: more scenes leave the first ones as they are.
    stream = list(SPLITS).index(split)
    for index in tqdm(range(count), desc=split, unit='scene'):
        scene = draw_scene(np.random.default_rng([seed, stream, index]), size)
        stem = f'{split}_{index:05d}'
        _write_image(images / f'{stem}.jpg', scene.image)
        _write_image(labels / f'{stem}.png', scene.labels)
        _write_image(coco_images / f'{stem}.jpg', scene.image)
        coco['images'].append(
            dict(id=index, file_name=f'{stem}.jpg', height=size, width=size))
        for name, mask in scene.instances:
            coco['annotations'].append(
                annotation(mask, 1 + SHAPES.index(name), index, len(coco['annotations']) + 1))
    path = root / 'coco' / 'annotations' / f'instances_{SPLITS[split]}.json'
    path.write_text(json.dumps(coco))


def write_dataset(root: Path,
                  train: int = 480,
                  val: int = 80,
                  size: int = 128,
                  seed: int = 0) -> None:
    """Draw a data set; the same arguments give the same files, in the place of earlier ones.

    Args:
        root (Path): Gets ``ade20k/`` and ``coco/``, of the same scenes. COCO's categories are the
            shapes, ADE20K's classes sky and ground too.
        train (int): Number of training scenes. Defaults to 480.
        val (int): Number of held-out scenes. Defaults to 80.
        size (int): Side of the images, in pixels. Defaults to 128.
        seed (int): Defaults to 0.
    """
    _write_split(Path(root), 'training', train, size, seed)
    _write_split(Path(root), 'validation', val, size, seed)
