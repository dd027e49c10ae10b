import pytest

pytest.importorskip('mmpretrain')
from mmqtvit.engine.imagenet import ImageNetV2  # noqa: E402
from mmqtvit.errors import UserError  # noqa: E402
from tests.helpers.imagenet import write_images  # noqa: E402

CLASSES = [f'class {label}' for label in range(12)]


def test_a_folder_is_the_number_of_its_class(tmp_path):
    write_images(tmp_path, [f'{label}/image{label}.jpeg' for label in range(12)])
    write_images(tmp_path, ['11/another11.jpeg'])
    dataset = ImageNetV2(data_root=str(tmp_path), metainfo=dict(classes=CLASSES))
    assert len(dataset) == 13
    for info in dataset:
        assert info['img_path'].endswith(f'{info["gt_label"]}.jpeg')


def test_all_classes_of_imagenet_are_expected(tmp_path):
    write_images(tmp_path, [f'{label}/a.jpeg' for label in range(11)])
    with pytest.raises(UserError, match=r"989 are not there: \['11', '12'"):
        ImageNetV2(data_root=str(tmp_path))


@pytest.mark.parametrize('names', [['n01440764/a.jpeg'], ['1000/a.jpeg'], ['07/a.jpeg'],
                                   ['a.jpeg']])
def test_another_layout(tmp_path, names):
    write_images(tmp_path, names)
    with pytest.raises(UserError, match='folders 0 to 999'):
        ImageNetV2(data_root=str(tmp_path))
