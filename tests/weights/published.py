"""Names and shapes of the published files, written down from their description alone."""

import torch

# widths, depths, head dim, hidden widths of the head
SIZES = {
    'b1': ([16, 32, 64, 128, 256], [1, 2, 3, 3, 4], 16, (1536, 1600)),
    'b2': ([24, 48, 96, 192, 384], [1, 3, 4, 4, 6], 32, (2304, 2560)),
    'b3': ([32, 64, 128, 256, 512], [1, 4, 6, 6, 9], 32, (2304, 2560)),
    'l1': ([32, 64, 128, 256, 512], [1, 1, 1, 6, 6], 32, (3072, 3200)),
    'l2': ([32, 64, 128, 256, 512], [1, 2, 2, 8, 8], 32, (3072, 3200)),
    'l3': ([64, 128, 256, 512, 1024], [1, 2, 2, 8, 8], 32, (6144, 6400)),
    'b_small': ([8, 16, 32, 64, 128], [1, 2, 2, 2, 2], 16, (64, 80)),
    'l_small': ([8, 16, 32, 64, 128], [1, 1, 1, 2, 2], 32, (64, 80)),
}


def norm(name, width):
    entries = {f'{name}.{key}': (width, )
               for key in ('weight', 'bias', 'running_mean', 'running_var')}
    return {**entries, f'{name}.num_batches_tracked': ()}


def conv_norm(name, shape):
    return {f'{name}.conv.weight': shape, **norm(f'{name}.norm', shape[0])}


def conv_bias(name, shape):
    return {f'{name}.conv.weight': shape, f'{name}.conv.bias': shape[:1]}


def mb_conv(name, i, o, expand, fewer_norms):
    inner = conv_bias if fewer_norms else conv_norm
    return {
        **inner(f'{name}.inverted_conv', (i * expand, i, 1, 1)),
        **inner(f'{name}.depth_conv', (i * expand, 1, 3, 3)),
        **conv_norm(f'{name}.point_conv', (o, i * expand, 1, 1))
    }


def fused_mb_conv(name, i, o, expand):
    return {
        **conv_norm(f'{name}.spatial_conv', (i * expand, i, 3, 3)),
        **conv_norm(f'{name}.point_conv', (o, i * expand, 1, 1))
    }


def attention(name, width, dim, stride, qtvit):
    heads = width // dim
    entries = {
        f'{name}.qkv.conv.weight': (3 * width, width, 1, 1),
        f'{name}.aggreg.0.0.weight': (3 * width, 1, 5, 5),
        f'{name}.aggreg.0.1.weight': (3 * width, dim, 1, 1),
        **conv_norm(f'{name}.proj', (width, 2 * heads * dim, 1, 1))
    }
    if qtvit:
        entries[f'{name}.positional_encoding'] = (1, 2 * heads * dim, 224 // stride, 224 // stride)
        entries[f'{name}.ones_scale1'] = ()
        entries.update(norm(f'{name}.bn', dim))
    return entries


def attention_blocks(stage, depth, width, dim, stride, expand, qtvit):
    entries = {}
    for block in range(1, depth + 1):
        name = f'{stage}.op_list.{block}'
        entries.update(
            attention(f'{name}.context_module.main', width, dim, stride, qtvit))
        entries.update(mb_conv(f'{name}.local_module.main', width, width, expand, True))
    return entries


def b_series(widths, depths, dim, qtvit):
    w0 = widths[0]
    entries = conv_norm('backbone.input_stem.op_list.0', (w0, 3, 3, 3))
    for block in range(1, depths[0] + 1):
        name = f'backbone.input_stem.op_list.{block}.main'
        entries.update(conv_norm(f'{name}.depth_conv', (w0, 1, 3, 3)))
        entries.update(conv_norm(f'{name}.point_conv', (w0, w0, 1, 1)))
    for index in range(4):
        i, o, depth = widths[index], widths[index + 1], depths[index + 1]
        stage = f'backbone.stages.{index}'
        entries.update(mb_conv(f'{stage}.op_list.0.main', i, o, 4, fewer_norms=index > 1))
        if index < 2:
            for block in range(1, depth):
                entries.update(mb_conv(f'{stage}.op_list.{block}.main', o, o, 4, False))
        else:
            entries.update(attention_blocks(stage, depth, o, dim, 4 * 2**index, 4, qtvit))
    return entries


def l_series(widths, depths, dim, qtvit):
    w0 = widths[0]
    entries = conv_norm('backbone.stages.0.op_list.0', (w0, 3, 3, 3))
    for block in range(1, depths[0] + 1):
        for conv in ('conv1', 'conv2'):
            entries.update(
                conv_norm(f'backbone.stages.0.op_list.{block}.main.{conv}', (w0, w0, 3, 3)))
    for index in (1, 2, 3):
        i, o = widths[index - 1], widths[index]
        stage = f'backbone.stages.{index}'
        for block in range(depths[index] + 1):
            name = f'{stage}.op_list.{block}.main'
            width, expand = (o, 4) if block else (i, 16)
            entries.update(mb_conv(name, width, o, expand, True) if index == 3 else
                           fused_mb_conv(name, width, o, expand))
    stage = 'backbone.stages.4'
    entries.update(mb_conv(f'{stage}.op_list.0.main', widths[3], widths[4], 24, True))
    entries.update(attention_blocks(stage, depths[4], widths[4], dim, 32, 6, qtvit))
    return entries


def published_shapes(size, qtvit, num_classes=1000):
    """The shape of every entry, by name.

    Args:
        size (str): A key of ``SIZES``.
        qtvit (bool): Whether QT-ViT's or EfficientViT's.
        num_classes (int): Defaults to 1000.
    """
    widths, depths, dim, (a, b) = SIZES[size]
    backbone = (b_series if size.startswith('b') else l_series)(widths, depths, dim, qtvit)
    return {
        **backbone,
        **conv_norm('head.op_list.0', (a, widths[-1], 1, 1)),
        'head.op_list.2.linear.weight': (b, a),
        'head.op_list.2.norm.weight': (b, ),
        'head.op_list.2.norm.bias': (b, ),
        'head.op_list.3.linear.weight': (num_classes, b),
        'head.op_list.3.linear.bias': (num_classes, ),
    }


def published_state_dict(size, qtvit, num_classes=1000):
    """Empty tensors of these shapes, without memory."""
    return {name: torch.empty(shape, device='meta')
            for name, shape in published_shapes(size, qtvit, num_classes).items()}
