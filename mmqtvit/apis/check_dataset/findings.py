"""What looking through a data set brings to light."""

from dataclasses import dataclass, field
from typing import NamedTuple, Optional


class Finding(NamedTuple):
    """Something wrong in one place.

    Args:
        kind (str): In a few words, the same for all findings of its kind.
        place (str): A file, or the key of the config.
        detail (str): Defaults to ''.
        breaks (bool): Whether training or evaluating would stop or learn from wrong labels.
            Defaults to True.
    """
    kind: str
    place: str
    detail: str = ''
    breaks: bool = True


@dataclass
class Examination:
    """One data set, looked through.

    Args:
        keys (list[str]): Its places in the config; several loaders may read the same one.
        kind (str): Its class.
        classes (Sequence[str], optional): None if neither the config nor the files name any.
        num_samples (int): Samples that were read.
        findings (list[Finding]): In the order of the samples.
        amounts (dict[int, int]): Boxes, labelled pixels or images by label.
        num_images (dict[int, int]): Images with at least one of these, by label.
        unit (str): What ``amounts`` counts.
    """
    keys: list
    kind: str
    classes: Optional[tuple] = None
    num_samples: int = 0
    findings: list = field(default_factory=list)
    amounts: dict = field(default_factory=dict)
    num_images: dict = field(default_factory=dict)
    unit: str = ''

    def count(self, amounts: dict) -> None:
        """Add what one image holds, by label."""
        for label, amount in amounts.items():
            self.amounts[label] = self.amounts.get(label, 0) + amount
            self.num_images[label] = self.num_images.get(label, 0) + 1

    def absent(self) -> list:
        """Names of the classes of which there is nothing."""
        return [name for label, name in enumerate(self.classes or ()) if label not in self.amounts]
