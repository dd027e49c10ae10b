"""Changes are values: they add up, move, and leave the config that they are applied to."""

from mmqtvit.swap.changes import Changes


def test_apply_leaves_the_config():
    config = dict(a=[dict(b=1), dict(b=2)], c=(1, 2), d=dict(e=3))
    changes = Changes(((('a', 1, 'b'), 7), (('c', 0), 8), (('d', 'new'), 9)))
    assert changes.apply(config) == dict(a=[dict(b=1), dict(b=7)], c=(8, 2), d=dict(e=3, new=9))
    assert config == dict(a=[dict(b=1), dict(b=2)], c=(1, 2), d=dict(e=3))


def test_below():
    assert Changes(((('b', ), 1), ), ('note', )).below(('a', )) == Changes(
        ((('a', 'b'), 1), ), ('note', ))


def test_sum():
    total = Changes((1, ), ('a', ), ('b', )) + Changes((2, ), ('c', ), ('d', ))
    assert total == Changes((1, 2), ('a', 'c'), ('b', 'd'))
