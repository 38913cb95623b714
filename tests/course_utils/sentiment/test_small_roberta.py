"""What pretraining is worth: the small RoBERTa finetuned, against the same with random weights."""

import pytest
import torch
from transformers import AutoConfig, AutoModelForSequenceClassification

from autograder.bench import pipeline
from course_utils import runtime
from course_utils.sentiment import sources
from course_utils.sentiment.finetuning import make_like_length_dataloaders
from course_utils.sentiment.predictions import classify
from tests.course_utils.tiny import load_splits, load_tokenizer

pytestmark = pytest.mark.soak

PLAIN = {
    "The film is wonderful.": 1,
    "The acting is superb and moving.": 1,
    "I found the songs delightful.": 1,
    "The plot is not dull.": 1,
    "The movie is awful.": 0,
    "The acting is wooden and stiff.": 0,
    "I found the songs dreadful.": 0,
    "The plot is not gripping.": 0,
}


def finetune(model, folder):
    """Train with the notebook's settings; return the best epoch's model and its test accuracy."""
    settings = sources.suggest_settings(str(sources.OWN_MODEL))
    runtime.set_seed(settings.seed)
    datasets = pipeline.make_datasets(load_tokenizer(), load_splits())
    loaders = make_like_length_dataloaders(datasets, settings.batch_size)
    optimizer = torch.optim.AdamW(model.parameters(), lr=settings.learning_rate)
    pipeline.main(model, loaders, optimizer, settings.num_epochs, folder)
    best = AutoModelForSequenceClassification.from_pretrained(folder)
    return best, pipeline.evaluate(best, loaders["test"])["accuracy"]


@pytest.fixture(scope="module")
def finetuned(tmp_path_factory):
    runtime.set_seed(64)
    model = AutoModelForSequenceClassification.from_pretrained(sources.OWN_MODEL)
    return finetune(model, tmp_path_factory.mktemp("finetuned"))


def test_finetuned_it_reads_sentences_and_not_only_words(finetuned):
    assert finetuned[1] >= 0.88


def test_finetuned_it_calls_plain_praise_one(finetuned):
    said = classify(finetuned[0], load_tokenizer(), list(PLAIN)).argmax(-1).tolist()
    assert said == list(PLAIN.values())


@pytest.mark.soak  # another training, as long as the first
def test_random_weights_stay_well_behind(finetuned, tmp_path):
    runtime.set_seed(64)
    config = AutoConfig.from_pretrained(sources.OWN_MODEL)
    random = AutoModelForSequenceClassification.from_config(config)
    without = finetune(random, tmp_path)[1]
    assert finetuned[1] - without >= 0.08
