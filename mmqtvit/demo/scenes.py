"""Draws a small textured scene with its labels.

Light, sizes, angles and textures vary freely. Each shape has colours that it is likely to wear, but
they overlap with its neighbours', so that its outline counts too; shapes hide one another, and
scribbles that belong to no class lie about.
"""

from dataclasses import dataclass, field

import cv2
import numpy as np

STUFF = ('sky', 'ground')
SHAPES = ('disk', 'square', 'triangle', 'star', 'cross', 'heart', 'moon', 'arrow')
CLASSES = STUFF + SHAPES

OTHER = 0  # as in ADE20K: belongs to no class; class i has label i + 1

RADII = (16, 34)  # of shapes, in pixels of an image of 128
HUE_SPREAD = 12  # standard deviation, in OpenCV's hue units, of 180 to the circle
MIN_VISIBLE = 60  # pixels that an instance must show


def _circle(radius: float = 1., start: float = 0., stop: float = 2 * np.pi) -> np.ndarray:
    angles = np.linspace(start, stop, 48)
    return radius * np.stack([np.cos(angles), np.sin(angles)], axis=1)


def _star() -> np.ndarray:
    angles = np.arange(10) * np.pi / 5
    radii = np.where(np.arange(10) % 2, 0.45, 1.)
    return radii[:, None] * np.stack([np.cos(angles), np.sin(angles)], axis=1)


def _heart() -> np.ndarray:
    t = np.linspace(0, 2 * np.pi, 48)
    y = 13 * np.cos(t) - 5 * np.cos(2 * t) - 2 * np.cos(3 * t) - np.cos(4 * t)
    return np.stack([16 * np.sin(t)**3, -y], axis=1) / 16


def _moon() -> np.ndarray:
    outer = _circle(1., 0.28 * np.pi, 1.72 * np.pi)
    inner = _circle(0.8, 1.63 * np.pi, 0.37 * np.pi) + [0.34, 0.]
    return np.concatenate([outer, inner])


#: Outlines of the shapes around the origin, about 1 in radius.
OUTLINES = dict(
    disk=_circle(),
    square=np.array([[-.8, -.8], [.8, -.8], [.8, .8], [-.8, .8]]),
    triangle=np.array([[0., -1.], [.95, .75], [-.95, .75]]),
    star=_star(),
    cross=np.array([[-.3, -1.], [.3, -1.], [.3, -.3], [1., -.3], [1., .3], [.3, .3], [.3, 1.],
                    [-.3, 1.], [-.3, .3], [-1., .3], [-1., -.3], [-.3, -.3]]),
    heart=_heart(),
    moon=_moon(),
    arrow=np.array([[1., 0.], [.1, .8], [.1, .3], [-1., .3], [-1., -.3], [.1, -.3], [.1, -.8]]),
)


@dataclass
class Scene:
    """An image and what it shows.

    Args:
        image (np.ndarray): (S, S, 3), uint8, BGR as cv2 has it.
        labels (np.ndarray): (S, S), uint8: 0 for other, class index + 1 elsewhere.
        instances (list[tuple[str, np.ndarray]]): Shape name and visible region, (S, S) bool.
    """
    image: np.ndarray
    labels: np.ndarray
    instances: list = field(default_factory=list)


def _colour(rng: np.random.Generator, hue: float, saturation: tuple) -> np.ndarray:
    hue = (hue + rng.normal(0, HUE_SPREAD)) % 180
    pixel = [hue, rng.uniform(*saturation), rng.uniform(90, 240)]
    return cv2.cvtColor(np.uint8([[pixel]]), cv2.COLOR_HSV2BGR)[0, 0].astype(np.float32)


def _texture(rng: np.random.Generator, size: int, hue: float, saturation: tuple) -> np.ndarray:
    """A (size, size, 3) float pattern: plain, stripes, checks, dots or clouds in two colours."""
    first, second = _colour(rng, hue, saturation), _colour(rng, hue, saturation)
    y, x = np.mgrid[:size, :size].astype(np.float32)
    angle, period = rng.uniform(0, np.pi), rng.uniform(5, 12)
    u = (x * np.cos(angle) + y * np.sin(angle)) * 2 * np.pi / period
    v = (y * np.cos(angle) - x * np.sin(angle)) * 2 * np.pi / period
    kind = rng.integers(5)
    if kind == 0:
        mix = np.zeros_like(x)
    elif kind == 1:
        mix = (np.sin(u) > 0).astype(np.float32)
    elif kind == 2:
        mix = (np.sin(u) * np.sin(v) > 0).astype(np.float32)
    elif kind == 3:
        mix = (np.sin(u) + np.sin(v) > 1).astype(np.float32)
    else:
        coarse = rng.random((size // 16 + 1, size // 16 + 1)).astype(np.float32)
        mix = cv2.resize(coarse, (size, size), interpolation=cv2.INTER_CUBIC)
    return first + mix[..., None] * (second - first)


def _background(rng: np.random.Generator, size: int) -> Scene:
    x = np.arange(size)
    wave = rng.uniform(2, 8) * np.sin(x * rng.uniform(0.02, 0.08) + rng.uniform(0, 6))
    horizon = size * rng.uniform(0.3, 0.7) + wave
    ground = np.arange(size)[:, None] > horizon
    upper, lower = (_texture(rng, size, rng.uniform(0, 180), (20, 110)) for _ in range(2))
    image = np.where(ground[..., None], lower, upper)
    shade = np.linspace(rng.uniform(0.7, 1), rng.uniform(1, 1.3), size)[:, None, None]
    labels = np.where(ground, 1 + CLASSES.index('ground'), 1 + CLASSES.index('sky'))
    return Scene(image * shade, labels.astype(np.uint8))


def _mask(rng: np.random.Generator, name: str, size: int) -> np.ndarray:
    radius = rng.uniform(*RADII) * size / 128
    angle = rng.uniform(0, 2 * np.pi)
    rotation = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    stretch = np.diag(rng.uniform(0.85, 1.15, 2))
    centre = rng.uniform(0.6 * radius, size - 0.6 * radius, 2)
    points = radius * OUTLINES[name] @ stretch @ rotation.T + centre
    mask = np.zeros((size, size), np.uint8)
    cv2.fillPoly(mask, [np.round(points * 16).astype(np.int32)], 1, shift=4)
    return mask.astype(bool)


def _is_clear(mask: np.ndarray) -> bool:
    """Whether enough shows, in one piece and without a hole, so that one polygon tells it all."""
    if mask.sum() < MIN_VISIBLE:
        return False
    _, hierarchy = cv2.findContours(
        mask.astype(np.uint8), cv2.RETR_CCOMP, cv2.CHAIN_APPROX_NONE)
    return len(hierarchy[0]) == 1


def _place(rng: np.random.Generator, scene: Scene, name: str) -> None:
    """Draw one shape over the scene, unless it would tear or hide another."""
    size = len(scene.labels)
    mask = _mask(rng, name, size)
    remaining = [(other, visible & ~mask) for other, visible in scene.instances]
    if not _is_clear(mask) or not all(_is_clear(visible) for _, visible in remaining):
        return
    light = np.linspace(*rng.uniform(0.75, 1.25, 2), size)[None, :, None]
    hue = SHAPES.index(name) * 180 / len(SHAPES)
    scene.image[mask] = (_texture(rng, size, hue, (120, 255)) * light)[mask]
    scene.labels[mask] = 1 + CLASSES.index(name)
    scene.instances = [*remaining, (name, mask)]


def _scribble(rng: np.random.Generator, scene: Scene) -> None:
    size = len(scene.labels)
    points = np.cumsum(rng.normal(0, size / 12, (6, 2)), axis=0) + rng.uniform(0, size, 2)
    mask = np.zeros((size, size), np.uint8)
    cv2.polylines(mask, [points.astype(np.int32)], False, 1, thickness=2)
    mask = mask.astype(bool)
    scene.image[mask] = rng.uniform(0, 255, 3)
    scene.labels[mask] = OTHER


def draw_scene(rng: np.random.Generator, size: int = 128) -> Scene:
    """Draw one scene: sky and ground, a scribble, and three to six shapes over them.

    Args:
        rng (np.random.Generator): The only source of chance.
        size (int): Side of the image, in pixels. Defaults to 128.
    """
    scene = _background(rng, size)
    _scribble(rng, scene)
    for name in rng.choice(SHAPES, rng.integers(3, 7)):
        _place(rng, scene, str(name))
    noise = rng.normal(0, rng.uniform(2, 10), scene.image.shape)
    scene.image = np.clip(scene.image * rng.uniform(0.7, 1.2) + noise, 0, 255).astype(np.uint8)
    return scene
