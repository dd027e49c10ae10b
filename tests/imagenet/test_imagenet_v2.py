import pytest

pytest.importorskip('mmpretrain')
from mmqtvit.errors import UserError  # noqa: E402
from mmqtvit.imagenet import ImageNetV2  # noqa: E402
from tests.imagenet.toy import write_images  # noqa: E402


def test_a_folder_is_the_number_of_its_class(tmp_path):
    write_images(tmp_path, ['0/a.jpeg', '2/b.jpeg', '10/c.jpeg', '999/d.jpeg', '999/e.jpeg'])
    dataset = ImageNetV2(data_root=str(tmp_path))
    labels = {info['img_path'][-6:]: info['gt_label'] for info in dataset}
    assert labels == {'a.jpeg': 0, 'b.jpeg': 2, 'c.jpeg': 10, 'd.jpeg': 999, 'e.jpeg': 999}
    assert len(dataset.metainfo['classes']) == 1000


@pytest.mark.parametrize('names', [['n01440764/a.jpeg'], ['1000/a.jpeg'], ['07/a.jpeg'],
                                   ['a.jpeg']])
def test_another_layout(tmp_path, names):
    write_images(tmp_path, names)
    with pytest.raises(UserError, match='folders 0 to 999'):
        ImageNetV2(data_root=str(tmp_path))
