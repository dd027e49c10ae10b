import pytest
import torch
import torch.nn.functional as F

from mmqtvit.layers import PositionEmbedding


@pytest.fixture
def embedding():
    module = PositionEmbedding(num_groups=2, head_dim=3, native_size=7)
    torch.nn.init.normal_(module.weight)
    return module


def expected(embedding, k, size):
    weight = F.interpolate(embedding.weight, size, mode='bicubic', align_corners=False)
    return k + weight.reshape(1, 2, 3, -1)


@pytest.mark.parametrize('train', [False, True])
@pytest.mark.parametrize('size', [(7, 7), (1, 1), (5, 11), (14, 14)])
def test_equals_plain_resizing(embedding, size, train):
    k = torch.randn(2, 2, 3, size[0] * size[1])
    torch.testing.assert_close(
        embedding.train(train)(k, size), expected(embedding, k, size))


def test_native_size_is_bit_identical(embedding):
    assert embedding.resized((7, 7)) is embedding.weight


def test_the_weights_are_read_at_each_call(embedding):
    k = torch.randn(2, 2, 3, 55)
    with torch.no_grad():
        embedding.eval()(k, (5, 11))
        embedding.weight.data.mul_(2)  # counts up no version
        torch.testing.assert_close(embedding(k, (5, 11)), expected(embedding, k, (5, 11)))


@pytest.mark.parametrize('size', [(7, 7), (5, 11)])
def test_gradient_equals_that_of_plain_resizing(embedding, size):
    k = torch.zeros(1, 2, 3, size[0] * size[1])
    cotangent = torch.randn(k.shape)
    reference, = torch.autograd.grad(expected(embedding, k, size), embedding.weight, cotangent)
    actual, = torch.autograd.grad(embedding(k, size), embedding.weight, cotangent)
    torch.testing.assert_close(actual, reference)


@pytest.mark.parametrize('dtype', [torch.bfloat16, torch.float16])
def test_half_precision_resizes_in_float32(embedding, dtype):
    actual = embedding.to(dtype).resized((5, 11))
    assert actual.dtype == dtype
    reference = F.interpolate(embedding.weight.float(), (5, 11), mode='bicubic')
    torch.testing.assert_close(actual, reference.to(dtype))
