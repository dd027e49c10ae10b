"""Image files: found, decoded as the toolboxes do, and looked through for damage."""

import numpy as np
import pytest
from mmcv.transforms import LoadImageFromFile
from PIL import Image

from mmqtvit.apis import UserError
from mmqtvit.apis.images import (
    UnreadableImage,
    damage,
    find_images,
    is_turned,
    read_image,
)

LOAD = LoadImageFromFile()


@pytest.fixture()
def folder(tmp_path):
    for name in ('b.png', 'a.JPG', 'notes.txt', 'deep/c.jpg'):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.touch()
    return tmp_path


def ramp(height=24, width=32):
    """Without noise, so that no lossy format changes it much: (H, W, 3), BGR."""
    y, x = np.mgrid[:height, :width]
    return np.stack([4 * x, 5 * y, 100 + x + y], axis=-1).astype(np.uint8)


def written(path, image=None, **options):
    Image.fromarray((ramp() if image is None else image)[..., ::-1]).save(path, **options)
    return path


def with_bad_checksum(path):
    """A PNG file that OpenCV decodes and Pillow does not: a chunk that says nothing of pixels."""
    content = written(path, format='png').read_bytes()
    chunk = (4).to_bytes(4, 'big') + b'gAMA' + bytes(4) + b'none'
    path.write_bytes(content[:33] + chunk + content[33:])  # after the signature and the header
    return path


def cut_short(path):
    """A JPEG file without its second half."""
    noise = np.random.default_rng(0).integers(0, 255, (64, 64, 3), np.uint8)
    content = written(path, noise).read_bytes()
    path.write_bytes(content[:len(content) // 2])
    return path


class TestFind:

    def test_a_folder_gives_the_images_right_in_it(self, folder):
        assert find_images([folder]) == [folder / 'a.JPG', folder / 'b.png']

    def test_a_file_is_taken_whatever_its_name(self, folder):
        assert find_images([folder / 'notes.txt']) == [folder / 'notes.txt']

    def test_patterns_go_into_folders(self, folder):
        assert find_images([f'{folder}/**/*.jpg']) == [folder / 'deep/c.jpg']

    def test_each_file_once_in_the_order_asked(self, folder):
        assert find_images([folder / 'b.png', folder]) == [folder / 'b.png', folder / 'a.JPG']

    def test_brackets_in_the_name_of_a_file_are_no_pattern(self, tmp_path):
        (tmp_path / 'a[1].jpg').touch()
        assert find_images([tmp_path / 'a[1].jpg']) == [tmp_path / 'a[1].jpg']

    @pytest.mark.parametrize('pattern', ['missing.jpg', '*.gif'])
    def test_what_leads_to_nothing(self, folder, pattern):
        with pytest.raises(UserError, match='no such image: .*' + pattern.replace('*', r'\*')):
            find_images([folder / 'b.png', folder / pattern])

    def test_a_folder_without_images(self, tmp_path):
        (tmp_path / 'notes.txt').touch()
        with pytest.raises(UserError, match='no image in folder .*jpg') as error:
            find_images([tmp_path])
        assert f"'{tmp_path}/**/*.jpg'" in str(error.value)


class TestRead:

    @pytest.mark.parametrize('suffix', ['png', 'jpg', 'bmp', 'tif', 'webp', 'ppm', 'gif'])
    def test_formats(self, tmp_path, suffix):
        image, wrong = read_image(written(tmp_path / f'a.{suffix}'), LOAD)
        assert wrong is None
        assert image.dtype == np.uint8 and image.flags['C_CONTIGUOUS']
        assert np.abs(image.astype(int) - ramp()).mean() < 10  # GIF has 256 colours, JPEG is lossy

    @pytest.mark.parametrize('mode', ['1', 'L', 'LA', 'RGBA', 'P', 'CMYK', 'I;16'])
    def test_modes_become_three_channels(self, tmp_path, mode):
        path = tmp_path / ('a.tif' if mode == 'CMYK' else 'a.png')
        image = Image.fromarray(ramp()[..., ::-1])
        if mode == 'I;16':
            image = Image.fromarray(np.full((24, 32), 30000, np.uint16))
        elif mode != 'RGB':
            image = image.convert(mode)
        image.save(path)
        assert read_image(path, LOAD)[0].shape == (24, 32, 3)

    def test_turned_as_exif_says(self, tmp_path):
        exif = Image.Exif()
        exif[0x0112] = 6  # a quarter turn
        path = written(tmp_path / 'a.jpg', exif=exif, quality=95)
        image, _ = read_image(path, LOAD)
        assert image.shape == (32, 24, 3)
        assert np.abs(image.astype(int) - np.rot90(ramp(), -1)).mean() < 5
        assert is_turned(path.read_bytes())
        assert not is_turned(written(tmp_path / 'b.jpg').read_bytes())

    def test_damage_that_opencv_forgives(self, tmp_path):
        image, wrong = read_image(with_bad_checksum(tmp_path / 'a.png'), LOAD)
        assert np.array_equal(image, ramp())
        assert wrong

    def test_cut_short(self, tmp_path):
        """Refused or forgiven, as the release of OpenCV has it, but never without a word."""
        try:
            image, wrong = read_image(cut_short(tmp_path / 'a.jpg'), LOAD)
            assert image.shape == (64, 64, 3)
        except UnreadableImage as reason:
            wrong = str(reason)
        assert 'truncated' in wrong

    @pytest.mark.parametrize('content, reason', [
        (b'', 'the file is empty'), (b'hello', 'no image'), (None, 'No such file')])
    def test_unreadable(self, tmp_path, content, reason):
        path = tmp_path / 'a.jpg'
        if content is not None:
            path.write_bytes(content)
        with pytest.raises(UnreadableImage, match=reason):
            read_image(path, LOAD)

    def test_large_is_not_damaged(self, tmp_path, monkeypatch):
        path = written(tmp_path / 'a.png')
        monkeypatch.setattr(Image, 'MAX_IMAGE_PIXELS', 100)
        assert damage(path.read_bytes()) is None

    def test_awkward_files(self, shared):
        """Real ones: the two broken streams are damaged, and the others become images."""
        damaged = set()
        for path in sorted((shared / 'data/awkward').iterdir()):
            try:
                image, wrong = read_image(path, LOAD)
                assert image.ndim == 3 and image.shape[2] == 3, path.name
            except UnreadableImage as reason:
                wrong = str(reason)
            if wrong:
                damaged.add(path.name)
        assert damaged == {'truncated_jpeg.jpg', 'broken_data_stream.png'}
