# make demo, make test: each installs what is missing first. `make` alone lists what there is.
PYTHON ?= $(shell command -v python3.11 || command -v python3 || echo python3.11)
# It chooses what .venv is made with; what runs in there is not to see it.
unexport PYTHON
PY := .venv/bin/python
DATA := data/demo
demo: RUN := upernet_qtvit1_demo
demo-det: RUN := retinanet_qtvit1_demo

.PHONY: help setup pose demo demo-det test lint clean

help:
	@echo 'make demo      train and test UPerNet on QT-ViT-1 on drawn scenes (about 6 minutes)'
	@echo 'make demo-det  the same for a detector, RetinaNet (about 5 minutes)'
	@echo 'make test      lint and all tests (7 to 10 minutes)'
	@echo 'make setup     only install into .venv (3 minutes; the first time up to 25, mmcv is compiled)'
	@echo 'make pose      also install MMPose, an extra (half a minute)'
	@echo 'make lint      only lint'
	@echo 'make clean     remove the demo data, what the demos wrote, and caches; .venv stays'

setup: .venv/installed

.venv/installed: requirements.txt pyproject.toml setup.py tools/setup_env.py
	@"$(PYTHON)" tools/setup_env.py

pose: .venv/pose

.venv/pose: requirements-pose.txt | setup
	$(PY) -m pip install --quiet --no-deps -r requirements-pose.txt
	@touch $@

$(DATA)/done: tools/make_demo_data.py $(wildcard mmqtvit/demo/*.py) | setup
	$(PY) tools/make_demo_data.py $(DATA)
	@touch $@

demo demo-det: $(DATA)/done
	$(PY) tools/train.py configs/$(RUN).py --work-dir work_dirs/$(RUN)
	$(PY) tools/test.py configs/$(RUN).py "$$(cat work_dirs/$(RUN)/last_checkpoint)" \
	    --work-dir work_dirs/$(RUN)/test --show-dir work_dirs/$(RUN)/test/overlays
	$(PY) tools/analysis/plot_log.py work_dirs/$(RUN) --out work_dirs/$(RUN)/curves.png
	@echo
	@echo 'Pictures    below work_dirs/$(RUN)/test/overlays'
	@echo 'Curves      work_dirs/$(RUN)/curves.png'
	@echo "Checkpoint  $$(cat work_dirs/$(RUN)/last_checkpoint)"

# One thread each: processes with several would wait for one another's.
test: export OMP_NUM_THREADS = 1
test: lint
	$(PY) -m pytest --numprocesses=auto --maxprocesses=8 --dist=loadfile

lint: setup
	$(PY) -m ruff check .

clean:
	rm -rf $(DATA) work_dirs/upernet_qtvit1_demo work_dirs/retinanet_qtvit1_demo
	rm -rf build dist *.egg-info .pytest_cache .ruff_cache .hypothesis
