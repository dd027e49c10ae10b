"""The published key names, for tests that compare with the published models."""

import re

RENAMES = [
    (r'^backbone\.input_stem\.op_list\.0\.', 'stem.0.'),
    (r'^backbone\.input_stem\.op_list\.(\d+)\.main\.', r'stem.\1.branch.'),
    (r'^backbone\.', ''),
    (r'op_list\.(\d+)\.context_module\.main\.', r'\1.attention.branch.'),
    (r'op_list\.(\d+)\.local_module\.main\.', r'\1.local.branch.'),
    (r'op_list\.0\.main\.', '0.'),
    (r'op_list\.0\.(conv|norm)\.', r'0.\1.'),
    (r'op_list\.(\d+)\.main\.', r'\1.branch.'),
    (r'(inverted|depth|point|spatial)_conv\.', r'\1.'),
    (r'qkv\.conv\.', 'qkv.'),
    (r'aggreg\.', 'aggregations.'),
    (r'positional_encoding$', 'position_embedding.weight'),
    (r'ones_scale1$', 'kernel.constant'),
    (r'branch\.bn\.', 'branch.value_shortcut.norm.'),
]


def to_own_keys(state_dict: dict, series: str) -> dict:
    """Rename a published classifier's backbone entries to this package's; drop its head."""
    mapped = {}
    for key, value in state_dict.items():
        if key.startswith('head.'):
            continue
        for pattern, replacement in RENAMES:
            key = re.sub(pattern, replacement, key)
        if series == 'l':  # published stages 0 to 4 are the stem and stages 1 to 4
            key = re.sub(r'^stages\.0\.', 'stem.', key)
            key = re.sub(r'^stages\.(\d)\.', lambda m: f'stages.{int(m[1]) - 1}.', key)
        mapped[key] = value
    return mapped
