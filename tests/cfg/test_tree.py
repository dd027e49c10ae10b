"""Names of classes, told from configs."""

import pytest

from mmqtvit.cfg.tree import as_list, at, dicts_at, type_name, typed, typed_paths, with_value


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


TREE = dict(a=dict(type='A', b=[dict(type='B'), 1]), c=(dict(type='C'), ))


def test_typed():
    assert dict(typed_paths(TREE)) == {
        ('a', ): TREE['a'], ('a', 'b', 0): dict(type='B'), ('c', 0): dict(type='C')}
    assert [node['type'] for node in typed(TREE)] == ['A', 'B', 'C']


def test_dicts_at():
    assert list(dicts_at(TREE, 'a')) == [(('a', ), TREE['a'])]
    assert list(dicts_at(TREE['a'], 'b')) == [(('b', 0), dict(type='B'))]
    assert list(dicts_at(TREE, 'none')) == []


def test_with_value():
    changed = with_value(TREE, ('c', 0, 'new'), 2)
    assert at(changed, ('c', 0)) == dict(type='C', new=2)
    assert changed['a'] is TREE['a'] and TREE['c'] == (dict(type='C'), )
    assert with_value(TREE, (), 3) == 3
