"""Focused linear attention (FLatten Transformer)."""

from torch import Tensor, nn

from ..checks import check_number
from .kernel import parameter_dtype, register_kernel
from .linear import LinearKernel, linear_attention, unit


@register_kernel
class FocusedLinear(LinearKernel):
    r"""Features that a power pulls towards the axes (Han et al., ICCV 2023).

    .. math:: φ(x) = \frac{\lVert y\rVert}{\lVert y^p\rVert}\, y^p, \quad y = \max(x, 0) + 10^{-6}

    and, added to the output, a depthwise 5×5 convolution of v with bias, d channels shared by all
    groups, which gives back the rank that the sharp features take. Feature length d; O(N d²)
    and 25·d for each token; weights are positive and, the convolution aside, sum to 1.

    Hazard: y^p leaves the range of float16; here it is taken of y/max y, in float32.

    Args:
        head_dim (int): Channels per group, d.
        power (float): p, above 0. Defaults to 3.

    Raises:
        ValueError: If the power is not a positive number.
    """

    non_negative = True

    def __init__(self, head_dim: int, power: float = 3) -> None:
        super().__init__(head_dim)
        self.power = check_number('power', power, above=0)
        self.depth = nn.Conv2d(head_dim, head_dim, 5, padding=2, groups=head_dim)

    @property
    def feature_length(self) -> int:
        return self.head_dim

    def macs(self, num_groups: int, num_tokens: int) -> int:
        """The convolution takes 25 for each entry of v."""
        convolution = num_groups * num_tokens * self.head_dim * 25
        return super().macs(num_groups, num_tokens) + convolution

    def features(self, x: Tensor) -> Tensor:
        """Map (B, G, d, N) to the features, of the same shape."""
        y = x.relu() + 1e-6
        length = y.square().sum(-2, keepdim=True).sqrt()
        largest = y.detach().amax(-2, keepdim=True)  # cancels, and so does its gradient
        return length * unit((y / largest)**self.power)

    def attend(self, q: Tensor, k: Tensor, v: Tensor, size: tuple[int, int]) -> Tensor:
        return linear_attention(self.features(q), self.features(k), v)

    def additions(self, q: Tensor, k: Tensor, v: Tensor, size: tuple[int, int]) -> list[Tensor]:
        maps = v.flatten(0, 1).unflatten(-1, size)  # (B·G, d, H, W)
        local = self.depth(maps.to(parameter_dtype(self.depth))).to(v.dtype).view(v.shape)
        return [local, *super().additions(q, k, v, size)]
