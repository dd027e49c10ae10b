"""Building by name, each time in a fresh process and away from the checkout."""

import subprocess
import sys
import textwrap

import pytest

TOOLBOXES = ['mmdet', 'mmseg', 'mmpretrain']


def run(tmp_path, code):
    result = subprocess.run([sys.executable, '-c', textwrap.dedent(code)],
                            cwd=tmp_path, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    return result.stdout.strip()


@pytest.mark.parametrize('toolbox', TOOLBOXES)
@pytest.mark.parametrize('name', ['QTViT', 'EfficientViT'])
def test_scoped_name_needs_nothing_else(tmp_path, toolbox, name):
    assert run(tmp_path, f'''
        from {toolbox}.registry import MODELS
        from mmengine.registry import init_default_scope
        init_default_scope('{toolbox}')
        print(type(MODELS.build(dict(type='mmqtvit.{name}', out_indices=(0, )))).__module__)
    ''').startswith('mmqtvit.backbones.')


@pytest.mark.parametrize('toolbox', TOOLBOXES)
def test_bare_name_after_custom_imports(tmp_path, toolbox):
    assert run(tmp_path, f'''
        from mmengine import Config
        from {toolbox}.registry import MODELS
        from mmengine.registry import init_default_scope
        open('config.py', 'w').write(
            "custom_imports = dict(imports=['mmqtvit'])\\n"
            "model = dict(type='QTViT', out_indices=(0, ))\\n")
        cfg = Config.fromfile('config.py')
        init_default_scope('{toolbox}')
        print(type(MODELS.build(cfg.model)).__name__)
    ''') == 'QTViT'


def test_all_toolboxes_in_one_process(tmp_path):
    run(tmp_path, '''
        import mmqtvit, mmqtvit.registry, mmqtvit.backbones.qtvit
        import mmdet.registry, mmseg.registry, mmpretrain.registry
        for toolbox in (mmdet, mmseg, mmpretrain):
            for name in ('QTViT', 'mmqtvit.QTViT'):
                assert toolbox.registry.MODELS.get(name) is mmqtvit.QTViT
    ''')


def test_importing_again_changes_nothing(tmp_path):
    run(tmp_path, '''
        import importlib.util, sys
        import mmqtvit
        from mmengine.registry import MODELS
        importlib.reload(mmqtvit.backbones.qtvit)
        # the same file under a second name
        spec = importlib.util.spec_from_file_location(
            'mmqtvit.backbones.twin', mmqtvit.backbones.qtvit.__file__)
        twin = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(twin)
        assert MODELS.get('QTViT').__name__ == 'QTViT'
    ''')


@pytest.mark.parametrize('name', ['QTViT', 'EfficientViT'])
def test_another_package_keeps_a_name_that_it_has_registered(tmp_path, name):
    run(tmp_path, f'''
        from mmengine.registry import MODELS
        @MODELS.register_module()
        class {name}:
            pass
        import mmqtvit
        assert MODELS.get('{name}') is {name}
        assert MODELS.get('mmqtvit.{name}') is mmqtvit.{name}
    ''')


def test_import_is_light(tmp_path):
    assert run(tmp_path, '''
        import sys
        import torch, mmqtvit
        mmqtvit.QTViT().eval()(torch.rand(1, 3, 64, 64))
        heavy = ('mmdet', 'mmseg', 'mmpretrain', 'mmcv')
        print([name for name in sys.modules if name.split('.')[0] in heavy])
    ''') == '[]'


def test_import_changes_no_global_of_torch_and_mmengine(tmp_path):
    run(tmp_path, '''
        import torch, mmengine.model
        from mmengine.runner import CheckpointLoader
        def state():
            return (set(torch.serialization.get_safe_globals()), torch.get_default_dtype(),
                    torch.get_num_threads(), torch.load, torch.backends.cudnn.benchmark,
                    dict(CheckpointLoader._schemes))
        before = state()
        import mmqtvit, mmqtvit.weights.publish
        assert state() == before
    ''')
