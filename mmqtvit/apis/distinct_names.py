"""Names for what is written about images, different for all images of a run."""

import os
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

from mmengine.runner import Runner


def distinct_stems(paths: Sequence) -> dict:
    """Name files by their stems, and those of equal stems by their folders too.

    Args:
        paths (Sequence[str | Path]): Of the files.

    Returns:
        dict: By path a name without a suffix, such as 'a_x' and 'b_x' for 'all/a/x.jpg' and
        'all/b/x.jpg'. A number is added where the suffixes alone differ.
    """
    absolute = {path: Path(os.path.abspath(path)) for path in paths}
    counts = Counter(path.stem for path in absolute.values())
    equal = [str(path.parent) for path in absolute.values() if counts[path.stem] > 1]
    root = os.path.commonpath(equal) if equal else None
    taken = {stem for stem, count in counts.items() if count == 1}
    names = {}
    for path, place in absolute.items():
        name = place.stem
        if counts[place.stem] > 1:
            base = name = '_'.join(place.relative_to(root).with_suffix('').parts)
            number = 1
            while name in taken:
                number += 1
                name = f'{base}_{number}'
            taken.add(name)
        names[path] = name
    return names


class _Paths:
    """``os.path`` with other base names for some paths."""

    def __init__(self, names: dict) -> None:
        self.names = names

    def basename(self, path: Any) -> str:
        return self.names.get(path) or os.path.basename(path)

    def __getattr__(self, name: str) -> Any:
        return getattr(os.path, name)


@contextmanager
def distinct_names(runner: Runner) -> Iterator[None]:
    """Let hooks and metrics write one file for each tested image, where images have equal names.

    The toolboxes' hooks and metrics name files by the images' base names, which are read through
    their modules' ``osp``. While this context is open that gives distinct names.

    Args:
        runner (Runner): One that tests; its test loop is built.
    """
    loop = runner.test_loop
    paths = image_paths(loop.dataloader.dataset)
    names = {path: name + os.path.splitext(path)[1] for path, name in distinct_stems(paths).items()
             if name != Path(path).stem}
    with ExitStack() as stack:
        for part in [*runner.hooks, *loop.evaluator.metrics] if names else ():
            for module in {cls.__module__ for cls in type(part).__mro__}:
                if getattr(sys.modules[module], 'osp', None) is os.path:
                    stack.enter_context(
                        mock.patch.object(sys.modules[module], 'osp', _Paths(names)))
        yield


def image_paths(dataset: Any) -> list:
    """Paths of a data set's images, as far as it says them."""
    if not hasattr(dataset, 'get_data_info'):
        return []
    paths = [dataset.get_data_info(index).get('img_path') for index in range(len(dataset))]
    return [path for path in paths if isinstance(path, str)]
