import copy

import pytest
import torch
import torch.nn.functional as F

from mmqtvit.layers import PositionEmbedding


@pytest.fixture
def embedding():
    module = PositionEmbedding(num_groups=2, head_dim=3, native_size=7)
    torch.nn.init.normal_(module.weight)
    return module.eval()


def resized(embedding, size):
    weight = F.interpolate(embedding.weight, size, mode='bicubic', align_corners=False)
    return weight.reshape(1, 2, 3, -1)


@pytest.mark.parametrize('size', [(7, 7), (1, 1), (5, 11), (14, 14)])
def test_equals_plain_resizing(embedding, size):
    with torch.no_grad():
        for _ in range(2):  # the second time from memory
            torch.testing.assert_close(embedding(size), resized(embedding, size))


def test_native_size_is_bit_identical(embedding):
    assert torch.equal(embedding((7, 7)).flatten(), embedding.weight.flatten())


def test_resized_map_is_kept_but_not_saved(embedding):
    with torch.no_grad():
        assert embedding((5, 11)) is embedding((5, 11))
    assert list(embedding.state_dict()) == ['weight']


def change_in_place(embedding):
    embedding.weight.mul_(2)


def load(embedding):
    embedding.load_state_dict({'weight': torch.randn_like(embedding.weight)})


def swap_data_between_modes(embedding):
    embedding.train()
    embedding.weight.data.copy_(torch.randn_like(embedding.weight))
    embedding.eval()


def swap_data_then_eval(embedding):  # what an EMA hook does before validation
    embedding.weight.data.copy_(torch.randn_like(embedding.weight))
    embedding.eval()


def change_dtype(embedding):
    embedding.double()


@pytest.mark.parametrize(
    'change',
    [change_in_place, load, swap_data_between_modes, swap_data_then_eval, change_dtype])
def test_no_stale_map(embedding, change):
    with torch.no_grad():
        embedding((5, 11))
        change(embedding)
        torch.testing.assert_close(embedding((5, 11)), resized(embedding, (5, 11)))


def test_copies_do_not_share_what_they_keep(embedding):
    with torch.no_grad():
        embedding((5, 11))
        twin = copy.deepcopy(embedding)
        twin.weight.mul_(2)
        assert not torch.equal(twin((5, 11)), embedding((5, 11)))


def test_gradient_reaches_the_weight_in_evaluation_too(embedding):
    with torch.no_grad():
        embedding((5, 11))
    cotangent = torch.randn(1, 2, 3, 55)
    expected, = torch.autograd.grad(resized(embedding, (5, 11)), embedding.weight, cotangent)
    actual, = torch.autograd.grad(embedding((5, 11)), embedding.weight, cotangent)
    torch.testing.assert_close(actual, expected)
