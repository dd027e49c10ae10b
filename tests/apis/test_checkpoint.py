import pytest
import torch
from mmengine.model import BaseTTAModel
from torch import nn

from mmqtvit.apis.checkpoint import check_match, latest_checkpoint
from mmqtvit.errors import UserError
from mmqtvit.weights import read_checkpoint


@pytest.fixture()
def model():
    model = nn.ModuleDict(dict(backbone=nn.Linear(2, 3), head=nn.Linear(3, 1)))
    model.test_step = None  # looked for by the TTA wrapper
    return model


def test_latest(tmp_path):
    work_dir = tmp_path / 'run'
    assert latest_checkpoint(str(work_dir)) is None
    work_dir.mkdir()
    assert latest_checkpoint(str(work_dir)) is None
    (work_dir / 'last_checkpoint').write_text(str(work_dir / 'iter_2.pth'))
    with pytest.raises(UserError, match='iter_2.pth, which is not there'):
        latest_checkpoint(str(work_dir))
    (work_dir / 'iter_2.pth').touch()
    assert latest_checkpoint(str(work_dir)) == str(work_dir / 'iter_2.pth')
    moved = work_dir.rename(tmp_path / 'moved')
    assert latest_checkpoint(str(moved)) == str(moved / 'iter_2.pth')


@pytest.mark.parametrize('content', [b'', b'not a checkpoint', b'PK\x03\x04 cut short'])
def test_unreadable(tmp_path, content):
    path = tmp_path / 'a.pth'
    path.write_bytes(content)
    with pytest.raises(UserError, match='a.pth') as error:
        read_checkpoint(str(path))
    assert len(str(error.value).splitlines()) <= 5


def test_cut_short(tmp_path):
    path = tmp_path / 'a.pth'
    torch.save(dict(state_dict=dict(weight=torch.rand(1000))), path)
    path.write_bytes(path.read_bytes()[:2000])
    with pytest.raises(UserError, match='cut short'):
        read_checkpoint(str(path))


def test_missing_or_no_checkpoint(tmp_path):
    with pytest.raises(UserError, match='is not there'):
        read_checkpoint(str(tmp_path / 'a.pth'))
    torch.save([1, 2], tmp_path / 'list.pth')
    with pytest.raises(UserError, match='it holds a list'):
        read_checkpoint(str(tmp_path / 'list.pth'))


class TTA(BaseTTAModel):

    def merge_preds(self, data_samples_list):
        return data_samples_list


@pytest.mark.parametrize('prefix', ['', 'module.', '_orig_mod.', 'module._orig_mod.', 'net.'])
@pytest.mark.parametrize('wrapped', [False, True])
@pytest.mark.parametrize('training', [False, True])
def test_match(model, prefix, wrapped, training):
    state = {f'{prefix}{key}': value for key, value in model.state_dict().items()}
    whole = TTA(model) if wrapped else model
    for checkpoint in (dict(state_dict=state), state, dict(model_state_dict=state, epoch=1)):
        found = check_match(whole, checkpoint, 'a.pth', training)
        assert found.keys() == model.state_dict().keys()


def test_a_part_is_enough_to_start_from_and_not_to_test(model):
    state = {key: value for key, value in model.state_dict().items() if 'backbone' in key}
    assert len(state) < len(model.state_dict())
    check_match(model, state, 'a.pth', training=True)
    with pytest.raises(UserError, match='does not fit the whole model'):
        check_match(model, state, 'a.pth', training=False)


@pytest.mark.parametrize('training', [False, True])
def test_numbers_alone_are_no_match(training):
    model = nn.ModuleDict(dict(backbone=nn.Sequential(nn.Conv2d(3, 4, 1), nn.BatchNorm2d(4))))
    other = nn.ModuleDict(dict(backbone=nn.Sequential(nn.Conv2d(3, 5, 1), nn.BatchNorm2d(5))))
    with pytest.raises(UserError, match='nothing in a.pth fits'):
        check_match(model, other.state_dict(), 'a.pth', training)


def test_no_match(model):
    state = nn.ModuleDict(dict(stem=nn.Linear(7, 3))).state_dict()
    with pytest.raises(UserError, match=r'nothing in a.pth fits') as error:
        check_match(model, dict(state_dict=state), 'a.pth', training=False)
    assert 'stem.weight (3, 7)' in str(error.value)
    assert 'backbone.weight (3, 2)' in str(error.value)


def test_several_models(model):
    state = dict(teacher=model.state_dict(), student=model.state_dict())
    with pytest.raises(UserError, match=r'a\.pth: .*2 times, below student and teacher'):
        check_match(model, state, 'a.pth', training=False)


def test_same_names_but_other_shapes(model):
    state = {key: value[None] for key, value in model.state_dict().items()}
    with pytest.raises(UserError, match='nothing in a.pth fits'):
        check_match(model, state, 'a.pth', training=False)


def test_weights_of_a_backbone_get_a_hint(model):
    with pytest.raises(UserError, match='init_cfg.checkpoint=a.pth'):
        check_match(model, model['backbone'].state_dict(), 'a.pth', training=True)
