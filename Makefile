# Each command sets up all it needs in .venv: Python 3.11 or newer and make are enough.
#   make train             train and evaluate the default agent; ARGS="--smoke" or any other option of train.py
#   make test              run the tests in two processes; ARGS goes to pytest, such as ARGS="-m soak" for long random play
#   make lint              ruff and mypy
#   make pictures          the pictures of the pages

PYTHON ?= python3
ARGS ?=
VENV := .venv
READY := $(VENV)/.ready

.PHONY: train test lint pictures clean

train: $(READY)
	$(VENV)/bin/python train.py $(ARGS)

test: $(READY)
	$(VENV)/bin/python -m pytest --numprocesses 2 --dist loadfile $(ARGS)

lint: $(READY)
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy

pictures: $(READY)
	$(VENV)/bin/python docs/pictures.py

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "rs_env needs Python 3.11 or newer: make PYTHON=/path/to/python3.11")'
	$(PYTHON) -m venv $(VENV)
	$(VENV)/bin/python -m pip install --quiet --constraint constraints.txt --editable '.[train,test,lint,arena]'
	$(VENV)/bin/python -m pip install --quiet --constraint constraints.txt --only-binary :all: open_spiel \
		|| echo 'OpenSpiel cannot be installed here: its tests will be skipped'
	touch $(READY)

clean:
	rm -rf $(VENV) build dist *.egg-info
