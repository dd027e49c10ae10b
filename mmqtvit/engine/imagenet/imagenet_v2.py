"""ImageNet-V2, a second test set for ImageNet's classes."""

from mmpretrain.datasets import CustomDataset
from mmpretrain.datasets.categories import IMAGENET_CATEGORIES
from mmpretrain.datasets.custom import find_folders, get_samples
from mmpretrain.registry import DATASETS

from ...errors import UserError


@DATASETS.register_module()
class ImageNetV2(CustomDataset):
    """`ImageNet-V2 <https://arxiv.org/abs/1902.10811>`_ (Recht et al., ICML 2019).

    Its folders are named by the number of the class, ``0`` to ``999``. Sorted as text, as folders
    of classes usually are, all but a few would get another label.

    Args:
        **kwargs: The arguments of :class:`mmpretrain.datasets.CustomDataset`; ``data_root`` is
            the folder with the 1000 folders.

    Raises:
        UserError: If the folders are not those of all classes.
    """

    METAINFO = {'classes': IMAGENET_CATEGORIES}

    def _find_samples(self) -> list:
        folders, _ = find_folders(self.img_prefix)
        known = {str(label): label for label in range(len(self.CLASSES))}
        wrong = [folder for folder in folders if folder not in known]
        lacking = [label for label in known if label not in folders]
        if wrong or lacking:
            raise UserError(f'{self.img_prefix} must hold folders 0 to {len(known) - 1}, as '
                            f'ImageNet-V2 has them; {len(lacking)} are not there: {lacking[:4]}, '
                            f'{len(wrong)} have other names: {wrong[:4]}')
        samples, _ = get_samples(self.img_prefix, {name: known[name] for name in folders},
                                 self.is_valid_file)
        return samples
