"""What differentiates, batches, records or counts the model gets the function of the size."""

import pytest
import torch
from torch._subclasses import FakeTensorMode
from torch.utils.flop_counter import FlopCounterMode


def last(model, x):
    with torch.no_grad():
        return model(x)[-1]


def close(actual, expected):
    torch.testing.assert_close(actual, expected, rtol=1e-4, atol=1e-5)


def test_functional_gradient(model, x):
    parameters = dict(model.named_parameters())

    def loss(parameters):
        return torch.func.functional_call(model, parameters, (x, ))[-1].square().mean()

    gradients = torch.func.grad(loss)(parameters)
    expected = torch.autograd.grad(model(x)[-1].square().mean(), list(parameters.values()),
                                   allow_unused=True)
    for gradient, reference in zip(gradients.values(), expected):
        if reference is not None:
            close(gradient, reference)


def test_vmap(model, x):
    images = torch.stack([x, x.flip(-1)])
    close(torch.func.vmap(lambda image: last(model, image))(images),
          torch.stack([last(model, image) for image in images]))


def test_vmap_of_gradients(model, x):
    images = torch.stack([x, x.flip(-1)])

    def loss(image):
        return model(image)[-1].square().mean()

    expected = [torch.autograd.grad(loss(image), image)[0]
                for image in images.clone().requires_grad_().unbind()]
    close(torch.func.vmap(torch.func.grad(loss))(images), torch.stack(expected))


def test_jvp(model, x):
    tangent = torch.randn_like(x)
    _, actual = torch.func.jvp(lambda image: model(image)[-1].square().mean(), (x, ), (tangent, ))
    image = x.clone().requires_grad_()
    gradient, = torch.autograd.grad(model(image)[-1].square().mean(), image)
    close(actual, (gradient * tangent).sum())


def test_counted_without_gradients(name, model):
    with torch.no_grad(), FlopCounterMode(display=False) as counter:
        model(torch.rand(1, 3, 224, 224))
    macs = dict(timm=0.496, qtvit1=0.496, b1=0.496, qtvit4=5.168)[name]
    assert counter.get_total_flops() / 2e9 == pytest.approx(macs, rel=2e-3)


def test_on_meta_and_with_fake_tensors(model, x):
    shapes = [level.shape for level in model(x)]
    with FakeTensorMode(allow_non_fake_inputs=True) as mode:
        assert [level.shape for level in model(mode.from_tensor(x))] == shapes
    model.to('meta')
    assert [level.shape for level in model(x.to('meta'))] == shapes


def test_a_trace_is_right_at_other_sizes(model, x):
    traced = torch.jit.trace(model, torch.rand(1, 3, 224, 224))
    with torch.no_grad():
        close(traced(x)[-1], last(model, x))


def test_an_export_of_the_program(model, x):
    close(torch.export.export(model, (x, )).module()(x)[-1], last(model, x))


def test_onnx_by_tracing_is_right_at_other_sizes(model, x, tmp_path):
    runtime = pytest.importorskip('onnxruntime')
    path = str(tmp_path / 'model.onnx')
    torch.onnx.export(
        model, torch.rand(1, 3, 224, 224), path, dynamo=False, input_names=['images'],
        output_names=['map1', 'map2', 'map3', 'map4'],
        dynamic_axes={'images': {0: 'batch', 2: 'height', 3: 'width'}}, opset_version=17)
    session = runtime.InferenceSession(path, providers=['CPUExecutionProvider'])
    for images in (x, torch.cat([x, x.flip(-1)])):
        actual = torch.from_numpy(session.run(None, {'images': images.numpy()})[-1])
        close(actual, last(model, images))
