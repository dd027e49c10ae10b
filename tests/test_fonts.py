"""Names in pictures: in a font that has their characters, or told of where there is none."""

import json
import warnings

import matplotlib
import pytest
from fontTools.fontBuilder import FontBuilder
from fontTools.pens.ttGlyphPen import TTGlyphPen
from matplotlib import font_manager

from mmqtvit import apis
from mmqtvit.analysis.figure import plt, save_figure
from mmqtvit.apis import load_config
from mmqtvit.apis.inference import Predictor, predict
from mmqtvit.fonts import use_font_for
from mmqtvit.toolboxes import get_toolbox

from .apis.test_inference import checkpoint
from .helpers.toy import write_toy

ASCII = ''.join(map(chr, range(32, 127)))


@pytest.fixture(autouse=True)
def settings_left_as_they_were():
    with matplotlib.rc_context():
        yield


@pytest.fixture()
def write_font(tmp_path):
    """Writes a font in which every character is a square."""

    def write(name, characters):
        pen = TTGlyphPen(None)
        pen.moveTo((0, 0))
        for point in ((0, 600), (600, 600), (600, 0)):
            pen.lineTo(point)
        pen.closePath()
        codes = {ord(character): f'uni{ord(character):04X}' for character in characters}
        glyphs = ['.notdef', *codes.values()]
        builder = FontBuilder(1000, isTTF=True)
        builder.setupGlyphOrder(glyphs)
        builder.setupCharacterMap(codes)
        builder.setupGlyf(dict.fromkeys(glyphs, pen.glyph()))
        builder.setupHorizontalMetrics(dict.fromkeys(glyphs, (700, 0)))
        builder.setupHorizontalHeader(ascent=800, descent=-200)
        builder.setupNameTable(dict(familyName=name, styleName='Regular'))
        builder.setupOS2()
        builder.setupPost()
        path = tmp_path / f'{name}-Regular.ttf'
        builder.save(path)
        return str(path)
    return write


@pytest.fixture()
def fonts(monkeypatch):
    """The paths of the fonts that the system has, to be filled."""
    paths = []
    monkeypatch.setattr(font_manager, 'findSystemFonts', lambda: paths)
    return paths


def family():
    return matplotlib.rcParams['font.sans-serif'][0]


def test_the_default_font_stays_where_it_will_do(fonts, write_font):
    before = family()
    fonts.append(write_font('Own', ASCII + 'ü猫'))
    assert use_font_for(['cat', 'Tür', 'two words']) is None
    assert family() == before


def test_a_font_that_has_all_characters_is_taken(fonts, write_font, tmp_path):
    broken = tmp_path / 'A-Sans-Regular.ttf'
    broken.write_bytes(b'no font')
    fonts += [str(broken), write_font('Half', ASCII + '猫'), write_font('Whole', ASCII + '猫犬')]
    assert use_font_for(['猫', 'dog 犬']) is None
    assert family() == 'Whole'


def test_missing_characters_are_named(fonts, write_font):
    fonts.append(write_font('Half', '猫'))
    assert use_font_for(['猫', 'dog 犬']).startswith(
        'no installed font has the characters 犬猫, in whose place pictures show boxes')


def test_dollars_are_no_formula(fonts):
    use_font_for(['$5', 'from $ to $'])
    assert matplotlib.rcParams['text.parse_math'] is False


def test_segmentors_draw_numbers_for_what_opencv_cannot():
    names, note = get_toolbox('mmseg').drawable_names(['sky', '海', 'Tür'])
    assert names == ['sky', '1', '2'] and note.endswith('pictures show 1 for 海, 2 for Tür')
    assert get_toolbox('mmseg').drawable_names(['sky', 'sea']) == (['sky', 'sea'], None)


def test_curves(fonts, tmp_path, capsys):
    figure = plt.figure()
    figure.suptitle('实验')
    save_figure(figure, tmp_path / 'a.png')
    assert 'has the characters 实验' in capsys.readouterr().err
    assert (tmp_path / 'a.png').is_file()


NAMES = dict(mmseg=('sky', '[海]', 'a$b$'), mmdet=('[猫]', 'a$b$'), mmpretrain=('[猫]', 'a$b$'))


@pytest.mark.parametrize('toolbox', NAMES)
@pytest.mark.parametrize('found', [True, False])
def test_pictures(toolbox, found, fonts, write_font, tmp_path, capsys):
    """Predicted and tested: no character that the font lacks, or a line that says so."""
    if found:
        fonts.append(write_font('Own', ASCII + '海猫'))
    path = write_toy(tmp_path, toolbox)
    options = {f'{split}_dataloader.dataset.metainfo.classes': NAMES[toolbox]
               for split in ('train', 'val', 'test')}
    options['work_dir'] = str(tmp_path / 'run')
    if toolbox == 'mmdet':
        records = tmp_path / 'data/boxes.json'
        content = json.loads(records.read_text())
        for category, name in zip(content['categories'], NAMES[toolbox]):
            category['name'] = name
        records.write_text(json.dumps(content))
    weights = checkpoint(tmp_path, load_config(path, options))
    said = 'no installed font has the characters' if toolbox != 'mmseg' else 'show 1 for [海]'
    expected = toolbox == 'mmseg' or not found
    with warnings.catch_warnings():
        warnings.filterwarnings('error' if found else 'ignore', 'Glyph .* missing from')
        predictor = Predictor(load_config(path, options), weights, 'cpu', 0.)
        skipped, _ = predict(predictor, sorted((tmp_path / 'data/images').iterdir()),
                             tmp_path / 'out')
        assert skipped == {}
        assert (said in capsys.readouterr().err) == expected
        apis.test(load_config(path, options), weights, show_dir=str(tmp_path / 'shown'))
        log = sorted((tmp_path / 'run').glob('*/*.log'))[-1].read_text()
        assert (said in log) == expected
    text = (tmp_path / 'out/0.json').read_text(encoding='utf-8')
    entries = json.loads(text).get('classes') or json.loads(text)['instances']
    assert {entry['name'] for entry in entries} <= set(NAMES[toolbox])
    assert '\\u' not in text
