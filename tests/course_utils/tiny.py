"""A model of a few thousand weights and a pipeline around it, for tests that train."""

from functools import cache

import torch
from transformers import BertConfig, BertForSequenceClassification, RobertaConfig
from transformers import RobertaForSequenceClassification as Roberta

from autograder.bench import pipeline
from course_utils import runtime
from course_utils.sentiment import sources


@cache
def load_splits():
    return sources.load_own_splits()


@cache
def load_tokenizer():
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(sources.OWN_MODEL)


def make_tiny_model(vocabulary: int) -> Roberta:
    """Return a RoBERTa with random weights, small enough to train in no time."""
    return Roberta(
        RobertaConfig(
            vocab_size=vocabulary, hidden_size=16, num_hidden_layers=1, num_attention_heads=2,
            intermediate_size=32, max_position_embeddings=514, pad_token_id=1,
        )
    )  # fmt: skip


def make_tiny_datasets(train: int = 48, validation: int = 24):
    """Return the first few of the course's own reviews as datasets."""
    splits = load_splits()
    few = {"train": splits["train"][:train], "validation": splits["validation"][:validation]}
    return pipeline.make_datasets(load_tokenizer(), few)


def make_tiny_run(seed: int = 0, learning_rate: float = 1e-3):
    """Return (model, dataloaders, optimizer), all from one seed."""
    runtime.set_seed(seed)
    datasets = make_tiny_datasets()
    model = make_tiny_model(len(pipeline.SST2Dataset.tokenizer))
    loaders = pipeline.make_dataloaders(datasets, 16)
    return model, loaders, torch.optim.AdamW(model.parameters(), lr=learning_rate)


def save_tiny_bert(folder) -> None:
    """Write a BERT-like checkpoint folder whose tokenizer makes token_type_ids."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors, trainers
    from transformers import BertTokenizer

    texts = [row["text"].lower() for row in load_splits()["train"]]
    specials = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    trained = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    trained.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    trainer = trainers.WordPieceTrainer(
        vocab_size=600, special_tokens=specials, show_progress=False
    )
    trained.train_from_iterator(texts, trainer)
    trained.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    folder.mkdir(parents=True, exist_ok=True)
    trained.model.save(str(folder))
    tokenizer = BertTokenizer.from_pretrained(folder, model_max_length=512)
    config = BertConfig(
        vocab_size=len(tokenizer), hidden_size=16, num_hidden_layers=1, num_attention_heads=2,
        intermediate_size=32,
    )  # fmt: skip
    BertForSequenceClassification(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
