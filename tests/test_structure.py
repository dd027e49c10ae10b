"""Where what lies: imports in one direction, toolboxes in their room, files and functions short."""

import ast
import re

import pytest

from mmqtvit.toolboxes import get_toolbox, names

#: The rooms, those that others build on first. A room imports from those before it alone.
ROOMS = ('terminal', 'errors', 'execution', 'checks', 'registry', 'fonts',
         'attention', 'layers', 'weights',
         'backbones', 'necks', 'deployment', 'cfg', 'toolboxes', 'engine', 'demo', 'analysis',
         'swap', 'apis')
#: What may name a toolbox outside of toolboxes/, and why.
NAME_A_TOOLBOX = {
    'mmqtvit/engine/imagenet': 'extends classes of MMPretrain; its configs import it by name',
}
LINES, LINES_OF_A_FUNCTION = 400, 60


def sources(root, *folders):
    return [path for folder in folders for path in sorted((root / folder).rglob('*.py'))
            if '__pycache__' not in path.parts]


def parsed(path):
    return ast.parse(path.read_text(encoding='utf-8'))


def imported(path, package):
    """Dotted names of the modules that a file imports.

    Args:
        path (Path): The file.
        package (tuple[str]): The package that it lies in, from which relative imports count.
    """
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            start = package[:len(package) - node.level + 1] if node.level else ()
            module = '.'.join((*start, *filter(None, [node.module])))
            yield from (f'{module}.{alias.name}' for alias in node.names)


def room_of(module):
    """The room of a module of this package; None of another, or of the package itself."""
    package, _, rest = module.partition('.')
    return rest.split('.')[0] if package == 'mmqtvit' and rest else None


def test_every_room_is_listed(root):
    found = {path.stem for path in (root / 'mmqtvit').iterdir()
             if path.name not in ('__init__.py', '__pycache__')}
    assert found == set(ROOMS)


@pytest.mark.parametrize('room', ROOMS)
def test_a_room_imports_from_those_before_it(root, room):
    allowed = ROOMS[:ROOMS.index(room) + 1]
    file = root / 'mmqtvit' / f'{room}.py'
    for path in [file] if file.is_file() else sources(root, f'mmqtvit/{room}'):
        package = path.relative_to(root).parts[:-1]
        wrong = {module for module in imported(path, package)
                 if room_of(module) in ROOMS and room_of(module) not in allowed}
        assert not wrong, f'{path} imports from above: {sorted(wrong)}'


def strings(path):
    """The texts in a file's code, without docstrings."""
    tree = parsed(path)
    docstrings = {id(node.body[0].value) for node in ast.walk(tree)
                  if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef))
                  and node.body and isinstance(node.body[0], ast.Expr)}
    return [node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)
            and isinstance(node.value, str) and id(node) not in docstrings]


def test_toolboxes_are_named_in_their_room_alone(root):
    words = {word for name in names() for word in (name, get_toolbox(name).package)}
    pattern = re.compile(rf'\b({"|".join(words)})\b', re.IGNORECASE)
    found = set()
    for path in sources(root, 'mmqtvit', 'tools'):
        place = path.relative_to(root)
        texts = [*strings(path), *imported(path, place.parts[:-1])]
        own = [text for text in texts if room_of(text) is None and pattern.search(text)]
        if own and place.parts[:2] != ('mmqtvit', 'toolboxes'):
            excused = [folder for folder in NAME_A_TOOLBOX if str(place).startswith(folder)]
            assert excused, f'{place}: {own}'
            found.update(excused)
    assert found == set(NAME_A_TOOLBOX), 'an exception that is none any more'


def test_the_extra_is_named_in_one_file(root):
    """Adding MMPose took a file of toolboxes/: no other names it, in comments either."""
    named = [path for path in sources(root, 'mmqtvit', 'tools') if re.search(
        r'\bmmpose\b', path.read_text(encoding='utf-8'), re.IGNORECASE)]
    assert named == [root / 'mmqtvit/toolboxes/mmpose.py']


def test_files_and_functions_are_short(root):
    long = []
    for path in sources(root, 'mmqtvit', 'tools', 'tests'):
        lines = len(path.read_text(encoding='utf-8').splitlines())
        long += [f'{path}: {lines} lines'] if lines > LINES else []
        for node in ast.walk(parsed(path)):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                lines = node.end_lineno - node.lineno + 1
                long += [f'{path}: {node.name} {lines}'] if lines > LINES_OF_A_FUNCTION else []
    assert not long


@pytest.mark.parametrize('module, package, expected', [
    ('from ..cfg.tree import at', ('mmqtvit', 'swap'), ['mmqtvit.cfg.tree.at']),
    ('from . import zoo', ('mmqtvit', 'backbones'), ['mmqtvit.backbones.zoo']),
    ('from ..terminal import quiet', ('mmqtvit', 'apis'), ['mmqtvit.terminal.quiet']),
    ('def f():\n    from mmqtvit import swap', ('tools', ), ['mmqtvit.swap']),
])
def test_imports_are_seen(tmp_path, module, package, expected):
    (tmp_path / 'a.py').write_text(module)
    assert list(imported(tmp_path / 'a.py', package)) == expected
