# make demo, make test: each installs what is missing first.
PY := .venv/bin/python
DATA := data/demo
SEG := work_dirs/upernet_qtvit1_demo
DET := work_dirs/retinanet_qtvit1_demo

.PHONY: help setup demo demo-det test lint clean

help:
	@echo 'make demo      train and test UPerNet on QT-ViT-1 on drawn scenes (about 5 minutes)'
	@echo 'make demo-det  the same for a detector, RetinaNet (about 7 minutes)'
	@echo 'make test      lint and all tests (about 10 minutes)'
	@echo 'make setup     only install into .venv (5 minutes; the first time 20)'
	@echo 'make lint      only lint'
	@echo 'make clean     remove .venv, the demo data and the demo results'

setup:
	@bash tools/setup_env.sh

$(DATA)/done: | setup
	$(PY) tools/make_demo_data.py $(DATA)
	@touch $@

demo: setup $(DATA)/done
	$(PY) tools/train.py configs/upernet_qtvit1_demo.py --work-dir $(SEG)
	$(PY) tools/test.py configs/upernet_qtvit1_demo.py $$(cat $(SEG)/last_checkpoint) \
	    --work-dir $(SEG)/test --show-dir $(SEG)/test/overlays
	$(PY) tools/analysis/plot_log.py $(SEG) --out $(SEG)/curves.png
	@echo 'Overlays in $(SEG)/test/overlays, curves in $(SEG)/curves.png.'

demo-det: setup $(DATA)/done
	$(PY) tools/train.py configs/retinanet_qtvit1_demo.py --work-dir $(DET)
	$(PY) tools/test.py configs/retinanet_qtvit1_demo.py $$(cat $(DET)/last_checkpoint) \
	    --work-dir $(DET)/test --show-dir $(DET)/test/overlays
	$(PY) tools/analysis/plot_log.py $(DET) --out $(DET)/curves.png
	@echo 'Overlays in $(DET)/test/overlays, curves in $(DET)/curves.png.'

test: lint
	$(PY) -m pytest

lint: setup
	$(PY) -m ruff check .

clean:
	rm -rf .venv $(DATA) $(SEG) $(DET)
