"""Image files: found, read as the toolboxes read them, and looked through for damage."""

import glob
import os
from collections.abc import Sequence
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


def decode(data: bytes) -> Optional[np.ndarray]:
    """Decode an image as mmcv does by default, with OpenCV.

    Args:
        data (bytes): Content of the file.

    Returns:
        np.ndarray | None: (H, W, 3), uint8, BGR, turned as its EXIF orientation says; None if
        OpenCV cannot decode it.
    """
    if not data:
        return None
    try:
        return cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR)
    except cv2.error:  # of too many pixels
        return None


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


def read_image(path: Path) -> tuple:
    """Read an image for prediction: what OpenCV cannot decode, such as GIF, Pillow may.

    Returns:
        tuple[np.ndarray, str | None]: (H, W, 3), uint8, BGR; and what is wrong with the file.

    Raises:
        UnreadableImage: If it cannot be read.
    """
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise UnreadableImage(error.strerror) from error
    image, wrong = decode(data), damage(data)
    if image is not None:
        return image, wrong
    if wrong:
        raise UnreadableImage(wrong)
    try:
        with Image.open(BytesIO(data)) as other:
            return np.asarray(other.convert('RGB'))[..., ::-1].copy(), None
    except Exception as error:  # of too many pixels, and what each of the formats raises
        raise UnreadableImage(str(error) or type(error).__name__) from error
