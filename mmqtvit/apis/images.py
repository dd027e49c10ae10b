"""Image files: found, read as the toolboxes read them, and looked through for damage."""

import glob
import os
from collections.abc import Callable, Sequence
from copy import copy
from io import BytesIO
from pathlib import Path
from typing import Optional

import cv2
import numpy as np
from PIL import ExifTags, Image, UnidentifiedImageError

from ..errors import UserError

SUFFIXES = ('.bmp', '.gif', '.jpeg', '.jpg', '.pgm', '.png', '.ppm', '.tif', '.tiff', '.webp')


class UnreadableImage(Exception):
    """A file that no decoder takes; the message is the reason."""


def find_images(patterns: Sequence) -> list:
    """Files, folders and glob patterns as one list of files.

    Args:
        patterns (Sequence[str]): Of a folder the images right in it are taken, told by their
            suffixes; ``**`` in a pattern stands for any folders.

    Returns:
        list[Path]: In the order of ``patterns``, each file once.

    Raises:
        UserError: If one of the patterns leads to nothing.
    """
    found = []
    for pattern in map(str, patterns):
        if os.path.isdir(pattern):
            paths = [path for path in sorted(Path(pattern).iterdir())
                     if path.suffix.lower() in SUFFIXES and path.is_file()]
            if not paths:
                raise UserError(f'no image in folder {pattern}; looked for {", ".join(SUFFIXES)}. '
                                f"Those in folders below: '{pattern.rstrip('/')}/**/*.jpg'")
        elif os.path.isfile(pattern):
            paths = [Path(pattern)]
        else:
            paths = [Path(path) for path in sorted(glob.glob(pattern, recursive=True))
                     if os.path.isfile(path)]
            if not paths:
                raise UserError(f'no such image: {pattern}, seen from {os.getcwd()}')
        found += paths
    return list(dict.fromkeys(found))


def damage(data: bytes) -> Optional[str]:
    """What is wrong with an image in the eyes of Pillow.

    OpenCV forgives some damage without a word. Of a JPEG file that was cut short, for one, 4.8
    gives what there is and grey below; 4.11 refuses it.

    Args:
        data (bytes): Content of the file.

    Returns:
        str | None: The reason, None if there is none.
    """
    if not data:
        return 'the file is empty'
    try:
        with Image.open(BytesIO(data)) as image:
            image.draft('L', (1, 1))  # all of a JPEG file is read, but an eighth of it computed
            image.load()
    except UnidentifiedImageError:
        return 'it is no image, or of an unknown format'
    except Image.DecompressionBombError:  # large is not damaged
        return None
    except Exception as error:  # each of Pillow's formats raises errors of its own
        return str(error) or type(error).__name__
    return None


def exceeds_eight_bits(data: bytes) -> bool:
    """Whether an image has more than eight bits a channel, which loaders cut off by default."""
    if data.startswith(b'\x89PNG'):
        return data[24] > 8  # of its header
    if data.startswith(b'\xff\xd8'):  # JPEG
        return False
    image = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_UNCHANGED)
    return image is not None and image.dtype != np.uint8


def is_turned(data: bytes) -> bool:
    """Whether a readable image's EXIF orientation swaps its width and height."""
    try:
        with Image.open(BytesIO(data)) as image:
            return image.getexif().get(ExifTags.Base.Orientation, 1) >= 5
    except Image.DecompressionBombError:  # Pillow does not open what is so large
        return False


def cut_to_eight_bits(data: bytes, image: np.ndarray) -> Optional[str]:
    """What remains of an image of more than eight bits that its loader has cut to eight.

    Args:
        data (bytes): Content of the file.
        image (np.ndarray): As the loader gives it.

    Returns:
        str | None: The range of its values, and where to read what to do; None if nothing was cut.
    """
    if image.dtype != np.uint8 or not exceeds_eight_bits(data):
        return None
    return (f'its values arrive as {image.min()} to {image.max()} of 255; see "Your own data" in '
            'README.md')


def read_image(path: Path, load: Callable) -> tuple:
    """Read an image for prediction: what OpenCV cannot decode, such as GIF, Pillow may.

    Args:
        path (Path): Of the file.
        load (Callable): A loading step of a pipeline, such as mmcv's ``LoadImageFromFile``.

    Returns:
        tuple[np.ndarray, str | None]: (H, W) or (H, W, C), as the step gives it; and what is wrong
        with the file, the rest of a sentence that begins with its name.

    Raises:
        UnreadableImage: If it cannot be read.
    """
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise UnreadableImage(error.strerror) from error
    wrong = damage(data)
    try:
        image = load(dict(img_path=str(path)))['img']
    except Exception as reason:  # each decoder raises errors of its own
        if wrong:
            raise UnreadableImage(wrong) from reason
        other = copy(load)
        other.imdecode_backend = 'pillow'
        try:
            image = other(dict(img_path=str(path)))['img']
        except Exception as error:
            raise UnreadableImage(f'{type(load).__name__}: {error!r}') from error
    image = np.ascontiguousarray(image)  # Pillow's channels are turned round in place
    if wrong:
        return image, f'is damaged ({wrong}); what can be read was taken'
    if cut := cut_to_eight_bits(data, image):
        return image, f'has more than eight bits, which the config cuts to eight: {cut}'
    return image, None


def as_picture(image: np.ndarray) -> np.ndarray:
    """Make of an image of any depth and number of channels one that can be drawn on.

    Values that are not eight bits are stretched from the least to the greatest; of one or two
    channels the first is shown in gray, of more than three the first three are shown.

    Args:
        image (np.ndarray): (H, W) or (H, W, C); the channels begin with B, G, R.

    Returns:
        np.ndarray: (H, W, 3), uint8, RGB.
    """
    image = image[..., None] if image.ndim == 2 else image
    image = image[..., 2::-1] if image.shape[2] > 2 else image[..., :1].repeat(3, axis=2)
    if image.dtype != np.uint8:
        image = np.nan_to_num(image.astype(np.float32), posinf=0., neginf=0.)
        image -= image.min()
        image = (image * (255 / (image.max() or 1))).astype(np.uint8)
    return np.ascontiguousarray(image)
