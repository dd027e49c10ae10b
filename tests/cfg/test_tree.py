"""Names of classes, told from configs."""

import pytest

from mmqtvit.cfg.tree import as_list, type_name


class Head:
    pass


@pytest.mark.parametrize(('part', 'name'), [
    (dict(type='mmdet.FPN'), 'FPN'), (dict(type=Head), 'Head'), (dict(), ''),
    (dict(type=None), ''), (None, ''), ('FPN', '')])
def test_type_name(part, name):
    assert type_name(part) == name


@pytest.mark.parametrize(('value', 'found'), [(None, []), (1, [1]), ((1, 2), [1, 2]), ([], [])])
def test_as_list(value, found):
    assert as_list(value) == found
