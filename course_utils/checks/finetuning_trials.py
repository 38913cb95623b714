"""Tries a learner's finetuning code on tiny models and writes down what it did, as numbers.

The models here are `PreTrainedModel`s that keep a diary: in which mode they were called, with which
examples, on which device, and in which order gradients were made, used and cleared. Their arithmetic
is written here, so that a diary reads the same under every version of transformers. There is no code
in here that trains or evaluates; the diary of a right solution is kept elsewhere, as numbers. The
text of this file is also sent into kernels that are being graded, together with that of the two
modules of the course that it imports.
"""

import contextlib
import math
import random
import tempfile
from pathlib import Path

import torch
from torch.utils import _pytree
from torch.utils.data import DataLoader
from transformers import (
    AutoConfig,
    AutoModelForSequenceClassification,
    BatchEncoding,
    PretrainedConfig,
    PreTrainedModel,
)
from transformers.modeling_outputs import SequenceClassifierOutput
from transformers.utils import logging

from course_utils.checks.learners_code import Failed, Lent, Problem, describe_error, find_function
from course_utils.checks.pretended_gpu import PretendedGPU, is_there, pretending, put_there

PAD, FIRST_WORD = 1, 4  # token ids: 0 <s>, 1 <pad>, 2 </s>, 3 <unk>, then w0, w1, ...
SPLITS = ("train", "validation", "test")
APART = 1000  # so far apart lie the first words of the splits that `main` is tried with
BACKWARD, STEP, CLEAR = 1, 2, 3  # events in a diary
LONGEST = 550  # tokens to which the tokenizer cuts when nobody says to how many


def run_trial(name, functions, inputs, device=True):
    """Try one piece of the learner's work; return what it did: arrays, numbers and Problems.

    With `device` false the second run, on a pretended GPU, is left out.
    Nothing here redirects output or changes folders: whoever wants silence sees to it.
    """
    threads, bars = torch.get_num_threads(), logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    randomness = random.getstate(), torch.get_rng_state()
    gradients = torch.is_grad_enabled()
    torch.set_num_threads(1)  # for tensors this small, waking threads costs more than the work
    torch.manual_seed(0)
    try:
        results = _TRIALS[name](functions, inputs)
        if device and name in _PASSES and "weights" in results:
            results["device"] = _try_device(functions[name], _PASSES[name], inputs)
        return results
    except Failed as failure:
        return {"problem": failure.args[0]}
    finally:
        torch.set_num_threads(threads)
        random.setstate(randomness[0])
        torch.set_rng_state(randomness[1])
        torch.set_grad_enabled(gradients)
        if bars:
            logging.enable_progress_bar()


def _call(function, *arguments):
    """Call the learner's code; return its value, or fail with a Problem."""
    try:
        return function(*arguments)
    except (Exception, SystemExit) as error:  # whatever a learner's code does wrong
        words = str(error)
        if type(error) is NotImplementedError and (not words or "TODO" in words):
            raise Failed(Problem("open|")) from None
        raise Failed(Problem(f"raised|{describe_error(error)}")) from None


# --------------------------------------------------------------------- a tokenizer and texts


def make_tokenizer():
    """Return a real tokenizer: it knows w0 to w199 and W0 to W19, and puts <s> and </s> around."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    specials = ["<s>", "<pad>", "</s>", "<unk>"]
    known = [*specials, *(_spell(number) for number in range(220))]
    words = {word: i for i, word in enumerate(known)}
    tokenizer = Tokenizer(models.WordLevel(words, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", special_tokens=[("<s>", 0), ("</s>", 2)]
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        bos_token="<s>", eos_token="</s>", pad_token="<pad>", unk_token="<unk>",
        model_input_names=["input_ids", "attention_mask"],
        model_max_length=LONGEST,
    )  # fmt: skip


def _spell(number):
    """Return a word: w0 to w199, then W0 to W19, which are other words than w0 to w19."""
    return f"w{number}" if number < 200 else f"W{number - 200}"


def _make_raw(words, labels, between=" "):
    """Return dicts of text and label; `words` has one row per text, filled up with -1."""
    return [
        {"text": between.join(_spell(int(word)) for word in row if word >= 0), "label": int(label)}
        for row, label in zip(words, labels)  # noqa: B905
    ]


@contextlib.contextmanager
def _borrowed_class(functions):
    """Lend out the learner's SST2Dataset; its tokenizer is put back afterwards."""
    kind = find_function(functions, "SST2Dataset")
    before = vars(kind).get("tokenizer") if isinstance(kind, type) else None
    try:
        yield kind
    finally:
        if isinstance(kind, type):
            kind.tokenizer = before


# --------------------------------------------------------------------------- SST2Dataset


def _try_dataset(functions, inputs):
    results = {}
    with _borrowed_class(functions) as kind:
        for case in ("many", "one"):
            raw = _make_raw(inputs[f"{case}.words"], inputs[f"{case}.labels"], ",  ")
            dataset = _call(kind, make_tokenizer(), [dict(one) for one in raw])
            order = [int(place) for place in inputs[f"{case}.order"]]
            for what, value in _describe_dataset(dataset, raw, order).items():
                results[f"{case}.{what}"] = value
    return results


def _describe_dataset(dataset, raw, order):
    samples, count = getattr(dataset, "sample_list", None), len(raw)
    if not isinstance(samples, list) or len(samples) != count:
        raise Failed(Problem(f"samples|{type(samples).__name__}"))
    if [(one.text, one.label) for one in samples] != [(one["text"], one["label"]) for one in raw]:
        raise Failed(Problem("samples|other texts or labels"))
    kept = list(samples)

    def get_items(places):
        return _locate([dataset[place] for place in places], kept)

    def refuses_beyond():
        """Return 1 when there is an error, 2 when there is None, 0 when there is something."""
        try:
            return 2 if dataset[count] is None else 0
        except Exception:  # a list's is an IndexError
            return 1

    def go_through():
        return _locate(_iterate(dataset, count), kept)

    def go_through_nested():
        """Count the pairs that two loops see, one inside the other."""
        pairs = 0
        for _ in dataset:
            for _ in dataset:
                pairs += 1
                if pairs > 2 * count**2 + 9:
                    return pairs
        return pairs

    return {
        "length": _note(lambda: len(dataset)),
        "items": _note(lambda: get_items(order)),
        "forwards": _note(lambda: get_items([place for place in order if place >= 0])),
        "beyond": refuses_beyond(),
        "pass": _note(go_through),
        "twice": _note(go_through),
        "nested": _note(go_through_nested),
        "kept": int(dataset.sample_list is samples and samples == kept),
    }


def _note(act):
    """Return what an action gives, or the Problem it ran into."""
    try:
        return _call(act)
    except Failed as failure:
        return failure.args[0]


def _iterate(dataset, expected):
    """Return what a loop over a dataset gives, cut off where it would never end."""
    found = []
    for item in dataset:
        found.append(item)
        if len(found) > expected + 3:
            break
    return found


def _locate(items, samples):
    """Return the place of each item among the samples; -1 for what is not one of them.

    The last number says what strangers are: 0 there are none, 1 text, 2 another type, 3 None.
    """
    kind, places = 0, []
    for item in items:
        same = [i for i, sample in enumerate(samples) if item is sample]
        same = same or [
            i
            for i, sample in enumerate(samples)
            if type(item) is type(sample) and (item.text, item.label) == (sample.text, sample.label)
        ]
        places.append(same[0] if same else -1)
        if not same:
            kind = 3 if item is None else 1 if isinstance(item, str) else 2
    return torch.tensor([*places, kind])


# ---------------------------------------------------------------------------- collate_fn


def _try_collate(functions, inputs):
    results = {}
    with _borrowed_class(functions) as kind:
        function = getattr(kind, "collate_fn", None)
        if not callable(function):
            raise Failed(Problem("undefined|collate_fn"))
        for case in ("short", "long", "one"):
            raw = _make_raw(inputs[f"{case}.words"], inputs[f"{case}.labels"])
            dataset = _call(kind, make_tokenizer(), raw)
            examples = list(dataset.sample_list)
            for how, collate in (("", kind.collate_fn), ("bound.", dataset.collate_fn)):
                try:
                    batch = _call(collate, list(examples))
                except Failed as failure:
                    results[f"{case}.{how}problem"] = failure.args[0]
                    continue
                if not how:
                    results.update(_describe_batch(case, batch))
    return results


def _describe_batch(case, batch):
    """Write a batch down: one entry per tensor, or a Problem in its place."""
    if batch is None:
        return {f"{case}.problem": Problem("none|")}
    if not isinstance(batch, dict):
        return {f"{case}.problem": Problem(f"type|{type(batch).__name__}")}
    missing = {"text_encoding", "label_encoding"} - set(batch)
    if missing:
        found = ", ".join(sorted(map(str, batch))) or "none"
        return {f"{case}.problem": Problem(f"keys|{found}")}
    text, labels = batch["text_encoding"], batch["label_encoding"]
    results = {
        f"{case}.labels": labels
        if isinstance(labels, torch.Tensor)
        else Problem(f"type|{type(labels).__name__}")
    }
    if not hasattr(text, "keys"):
        results[f"{case}.input_ids"] = Problem(f"type|{type(text).__name__}")
        return results
    results[f"{case}.encoding"] = int(isinstance(text, BatchEncoding))
    for key in ("input_ids", "attention_mask"):
        value = text.get(key)
        results[f"{case}.{key}"] = (
            value if isinstance(value, torch.Tensor) else Problem(f"type|{type(value).__name__}")
        )
    return results


# ------------------------------------------------------------------------ make_dataloaders


def _try_dataloaders(functions, inputs):
    make = find_function(functions, "make_dataloaders")
    results = {}
    with _borrowed_class(functions) as kind:
        tokenizer = make_tokenizer()
        datasets = {
            split: _call(
                kind, tokenizer, _make_raw(inputs[f"{split}.words"], inputs[f"{split}.labels"])
            )
            for split in SPLITS
        }
        loaders = _call(make, datasets, int(inputs["batch_size"]))
        if loaders is None:
            raise Failed(Problem("none|"))
        if not isinstance(loaders, dict):
            raise Failed(Problem(f"type|{type(loaders).__name__}"))
        there = [split for split in SPLITS if split in loaders]  # more of them do no harm
        if there != [*SPLITS]:
            results["keys"] = Problem(f"keys|{', '.join(sorted(map(str, loaders))) or 'none'}")
        if not there:
            raise Failed(results["keys"])
        for split in there:
            if not isinstance(loaders[split], DataLoader):
                raise Failed(Problem(f"loader|{type(loaders[split]).__name__}"))
            for turn in ("first", "second"):
                try:
                    order, labels, sizes, widths = _call(_read_loader, loaders[split])
                except (
                    Failed
                ) as failure:  # not its batches, but its order may be right all the same
                    results.setdefault("batches", failure.args[0])
                    order, labels, sizes, widths = _call(_read_order, loaders[split])
                results[f"{split}.{turn}"] = torch.tensor(order or [-1])
                results[f"{split}.{turn}.labels"] = torch.tensor(labels or [-1])
            results[f"{split}.sizes"] = torch.tensor(sizes or [0])
            results[f"{split}.widths"] = torch.tensor(widths or [0])
        first = dict(loaders)
        again = _call(
            make, datasets, int(inputs["batch_size"]) + 1
        )  # nothing may be left of before
        results["own"] = int(loaders == first)  # what the first call returned is left alone
        for split in there:
            read = _read_order if "batches" in results else _read_loader
            sizes = _call(read, again[split])[2] if isinstance(again, dict) else []
            results[f"{split}.twice"] = torch.tensor(sizes or [0])
    return results


def _read_loader(loader):
    """Return which examples came, told by their first word, their labels, batch sizes and widths."""
    order, labels, sizes, widths = [], [], [], []
    for batch in loader:
        try:
            ids = batch["text_encoding"]["input_ids"]
            order += (ids[:, 1] - FIRST_WORD).tolist()
            labels += torch.as_tensor(batch["label_encoding"]).reshape(-1).tolist()
        except (TypeError, KeyError, IndexError, AttributeError):
            raise Failed(Problem(f"batch|{type(batch).__name__}")) from None
        sizes.append(len(ids))
        widths.append(ids.shape[1])
    return order, labels, sizes, widths


def _read_order(loader):
    """Return what `_read_loader` does, without widths, where batches cannot be made."""
    order, labels, sizes = [], [], []
    for places in loader.batch_sampler or ():
        examples = [loader.dataset[place] for place in places]
        words = [example.text.split()[0] for example in examples]
        order += [int(word[1:]) + 200 * (word[0] == "W") for word in words]
        labels += [example.label for example in examples]
        sizes.append(len(examples))
    return order, labels, sizes, []


# -------------------------------------------------------------- models that keep a diary


class Diary:
    """What happened to a model: one entry per forward pass, and events in their order."""

    def __init__(self, gpu=None):
        self.modes, self.gradients, self.masks, self.seen = [], [], [], []
        self.batches, self.lengths = [], [0.0]  # loss, right answers, sizes and margins; gradients
        self.events, self.gpu, self.stayed_behind = [], gpu, False
        self.truth = torch.zeros(1, dtype=torch.int64)  # the labels of the examples to come
        self.is_new_pass = True  # has the model been called since the last event?

    def note(self, event):
        if event != BACKWARD or self.events[-1:] != [BACKWARD] or self.is_new_pass:
            self.events.append(event)
            self.is_new_pass = False

    def note_batch(self, logits, examples):
        """Write down a batch by its true labels, whatever labels the model was given."""
        with torch.no_grad():
            labels = self.truth[examples.clamp(0, len(self.truth) - 1)]
            loss = torch.nn.functional.cross_entropy(logits, labels)
            gap = (logits[:, 1] - logits[:, 0]).abs().min()
            said = (logits[:, 1] > logits[:, 0]).long()
            right = (said == labels).sum()
            self.batches.append([float(loss), int(right), len(logits), float(gap), int(said.sum())])

    def to_numbers(self):
        return {
            "modes": torch.tensor(self.modes or [-1]),
            "gradients": torch.tensor(self.gradients or [-1]),
            "masks": torch.tensor(self.masks or [-1]),
            "seen": torch.tensor(self.seen or [-1]),
            "events": torch.tensor(self.events or [0]),
            "batches": torch.tensor(self.batches or [[-1.0] * 5], dtype=torch.float64),
            "steepest": max(self.lengths),
        }


class DiaryConfig(PretrainedConfig):
    model_type = "diary"


class DiaryModel(Lent, PreTrainedModel):
    """A tiny classifier of texts that writes down how it is used.

    To the outside it is any `PreTrainedModel`. Inside it is plain PyTorch, written here: what a
    learner's code is compared with is then the same under every version of transformers. Words and
    places are embedded, seen through one layer, averaged where the mask is 1, and classified. How
    much each feature counts depends on the mode and on whether gradients are on, so that both show
    in every number, and nobody has to be asked about them.
    """

    config_class = DiaryConfig
    closed = frozenset(("diary", "gains"))
    words, places, features = 64, 32, 8

    def __init__(self, config):
        super().__init__(config)
        self.num_labels = config.num_labels
        self.word_embeddings = torch.nn.Embedding(self.words, self.features)
        self.place_embeddings = torch.nn.Embedding(self.places, self.features)
        self.dense = torch.nn.Linear(self.features, self.features)
        self.classifier = torch.nn.Linear(self.features, self.num_labels)
        self.post_init()

    def _init_weights(self, module):
        pass  # `_make_diary_model` sees to it

    def keep(self, diary):
        self.diary = [diary]  # in a list, so that nothing takes it for a part of the model
        self.gains = [torch.ones(4, self.features, dtype=torch.float64)]
        self.classifier.bias.register_hook(lambda gradient: diary.note(BACKWARD))
        return self

    def __deepcopy__(self, memo):
        """Return a copy that writes into the same diary and is on the same device."""
        gpu = self.diary[0].gpu
        with gpu.pause() if gpu else contextlib.nullcontext():
            twin = DiaryModel(self.config).double().train(self.training)
            twin.load_state_dict(self.state_dict())
            if gpu:
                _pytree.tree_map(put_there, [*twin.parameters(), *twin.buffers()])
        twin.keep(self.diary[0]).gains = self.gains
        return twin

    def zero_grad(self, *arguments, **named):
        self.diary[0].note(CLEAR)
        return super().zero_grad(*arguments, **named)

    def forward(
        self,
        input_ids=None,
        attention_mask=None,
        token_type_ids=None,
        position_ids=None,
        inputs_embeds=None,
        labels=None,
        output_attentions=None,
        output_hidden_states=None,
        return_dict=None,
    ):
        diary = self.diary[0]
        diary.is_new_pass = True
        diary.modes.append(int(self.training))
        diary.gradients.append(int(torch.is_grad_enabled()))
        diary.masks.append(int(attention_mask is not None))
        gpu = diary.gpu
        with gpu.pause() if gpu else contextlib.nullcontext():
            given = [x for x in (input_ids, attention_mask, labels) if x is not None]
            if gpu and not all(is_there(tensor) for tensor in given):
                diary.stayed_behind = True
                raise RuntimeError("Expected all tensors to be on the same device, cuda:0 and cpu")
            examples = input_ids[:, 1] - FIRST_WORD
            diary.seen += examples.tolist()
            logits = self._classify(input_ids, attention_mask)
            diary.note_batch(logits, examples)
            loss = None
            if labels is not None:
                loss = torch.nn.functional.cross_entropy(logits, labels.reshape(-1))
            if gpu:
                _pytree.tree_map_only(torch.Tensor, put_there, (loss, logits))
        outputs = SequenceClassifierOutput(loss=loss, logits=logits)
        return outputs.to_tuple() if return_dict is False else outputs

    def _classify(self, ids, mask):
        """Return the logits, (B, 2), of token ids and their mask, both (B, T)."""
        mask = torch.ones_like(ids) if mask is None else mask
        places = self.place_embeddings.weight[: ids.shape[1]]  # (T, features)
        seen = torch.tanh(self.dense(self.word_embeddings(ids) + places)) / 2  # (B, T, features)
        share = mask / mask.sum(dim=1, keepdim=True)  # (B, T): 1 over the text's length, or 0
        pooled = torch.einsum("bt,btf->bf", share.to(seen.dtype), seen)
        gain = self.gains[0][2 * int(self.training) + int(torch.is_grad_enabled())]
        return self.classifier(pooled * gain)


class DiarySGD(Lent, torch.optim.SGD):
    """Plain gradient descent that writes down when it steps and when it clears gradients."""

    closed = frozenset(("diary",))

    def __init__(self, model, diary, lr):
        super().__init__(model.parameters(), lr=lr)
        self.diary = diary

    def step(self, closure=None):
        self.diary.note(STEP)
        gradients = [
            p.grad.norm()
            for group in self.param_groups
            for p in group["params"]
            if p.grad is not None
        ]
        if gradients and not self.diary.gpu:
            self.diary.lengths.append(float(torch.stack(gradients).norm()))
        with self.diary.gpu.pause() if self.diary.gpu else contextlib.nullcontext():
            return super().step(closure)

    def zero_grad(self, set_to_none=True):
        self.diary.note(CLEAR)
        return super().zero_grad(set_to_none)


# How large a weight can be: large enough for answers that differ, small enough for gradients that
# are shorter than 1, so that clipping them there changes nothing.
_AMPLITUDES = {
    "word_embeddings.weight": 3.0, "place_embeddings.weight": 0.3,
    "dense.weight": 0.5, "dense.bias": 0.2,
    "classifier.weight": 0.5, "classifier.bias": 0.1,
}  # fmt: skip


def _make_diary_model(diary, inputs):
    """Return a tiny model whose weights are waves of the given lengths and starts."""
    model = DiaryModel(DiaryConfig(num_labels=2)).double()
    waves = torch.as_tensor(inputs["waves"]).double()  # (parameters, 2)
    with torch.no_grad():
        for number, (name, parameter) in enumerate(model.named_parameters()):
            length, start = waves[number]
            wave = torch.arange(parameter.numel(), dtype=torch.float64) * length
            parameter.copy_(_AMPLITUDES[name] * torch.sin(wave + start).reshape(parameter.shape))
        lean = float(inputs["lean"]) / 2
        model.classifier.bias += torch.tensor([lean, -lean], dtype=torch.float64)
    model.keep(diary)
    model.gains = [torch.as_tensor(inputs["gains"]).double()]
    return model


def classify_with(inputs, texts, training):
    """Return the logits, an array (N, 2) each, that the trial's model would have for lots of token ids."""
    model = _make_diary_model(Diary(), inputs)
    model.train(training)
    with torch.set_grad_enabled(training):
        return [
            model._classify(ids, (ids != PAD).long()).detach().numpy()
            for ids in (torch.as_tensor(lot).long() for lot in texts)
        ]


def _make_loader(ids, labels, batch_size, shuffle=False):
    """Return a DataLoader over token ids and labels; each batch is as wide as its longest text."""

    def collate(rows):
        tokens = torch.stack([row[0] for row in rows])
        mask = (tokens != PAD).long()
        width = int(mask.sum(dim=1).max())
        encoding = BatchEncoding(
            {"input_ids": tokens[:, :width].clone(), "attention_mask": mask[:, :width].clone()}
        )
        return {
            "text_encoding": encoding,
            "label_encoding": torch.stack([row[1] for row in rows]),
        }

    rows = [(torch.as_tensor(a).long(), torch.as_tensor(b).long()) for a, b in zip(ids, labels)]  # noqa: B905
    return DataLoader(rows, batch_size=batch_size, collate_fn=collate, shuffle=shuffle)


def _sum_up(model):
    """Return, for each parameter, a number that changes whenever one of its entries does."""
    sums = []
    for parameter in model.parameters():
        flat = parameter.detach().double().reshape(-1)
        sums.append(float(flat @ torch.cos(torch.arange(len(flat), dtype=torch.float64))))
    return torch.tensor(sums, dtype=torch.float64)


def _read_report(report):
    """Return loss and accuracy of a returned dictionary, or say what is wrong with it."""
    if report is None:
        return {"report": Problem("none|")}
    if not isinstance(report, dict):
        return {"report": Problem(f"type|{type(report).__name__}")}
    results = {}
    if not {"loss", "accuracy"} <= set(report):
        found = ", ".join(sorted(map(str, report))) or "none"
        results["report"] = Problem(f"keys|{found}")
    for key in {"loss", "accuracy"} & set(report):
        value = report[key]
        results[key] = _read_number(value)
        results[f"{key}.plain"] = _read_plainness(value)
    return results


def _read_number(value):
    try:
        if not isinstance(value, (str, bytes)):  # digits are no number
            return float(value)
    except (TypeError, ValueError, RuntimeError):
        pass
    return Problem(f"number|{type(value).__name__}")


def _read_plainness(value):
    """Return 1 for a number of Python's own, 0 for a tensor, a Problem for another library's."""
    if isinstance(value, (float, int, torch.Tensor)):
        return int(not isinstance(value, torch.Tensor))
    return Problem(f"plain|{type(value).__name__}")


# ---------------------------------------------------------- train_one_epoch and evaluate


def _make_loaders(inputs):
    """Return two loaders over different examples; the last batch of each is smaller."""
    return [
        _make_loader(inputs[f"ids{turn}"], inputs[f"labels{turn}"], int(inputs["batch_size"]))
        for turn in ("", ".twice")
    ]


def _prepare_training(function, inputs, diary):
    model = _make_diary_model(diary, inputs)
    optimizer = DiarySGD(model, diary, lr=0.1)

    def act(turn, loader):
        model.train(False)  # as an evaluation leaves it
        return function(model, loader, optimizer, turn)

    return model, act


def _prepare_evaluation(function, inputs, diary):
    model = _make_diary_model(diary, inputs)

    def act(turn, loader):
        model.train(True)  # as a training leaves it
        return function(model, loader)

    return model, act


_PASSES = {"train_one_epoch": _prepare_training, "evaluate": _prepare_evaluation}


def _try_training(functions, inputs):
    return _try_pass(find_function(functions, "train_one_epoch"), _prepare_training, inputs)


def _try_evaluation(functions, inputs):
    return _try_pass(find_function(functions, "evaluate"), _prepare_evaluation, inputs)


def _try_pass(function, prepare, inputs, gpu=None):
    """Run two passes, over one loader and then over another: nothing of the first may stay.

    What asks for a GPU by its name is tried with a pretended one: the rest of it may be right.
    """
    diary = Diary(gpu)
    model, act = prepare(function, inputs, diary)
    before = _sum_up(model)
    results, reports = {}, {}
    if gpu:
        _put_model_there(model)
    for turn, loader in enumerate(_make_loaders(inputs), start=1):
        diary.truth = torch.as_tensor(inputs["labels" if turn == 1 else "labels.twice"]).long()
        try:
            with pretending(gpu, function) if gpu else contextlib.nullcontext():
                reports[turn] = _call(act, turn, loader)
        except Failed as failure:
            words = str(failure).lower()
            if gpu is None and ("cuda" in words or "nvidia" in words):
                tried = _try_pass(function, prepare, inputs, PretendedGPU())
                return tried if "problem" in tried else {"pinned": failure.args[0], **tried}
            return {"problem": failure.args[0], **diary.to_numbers()}
        if turn == 1:
            results = diary.to_numbers() | _read_report(reports[1])
            results["off"] = int(not torch.is_grad_enabled())  # gradients switched off for good?
            torch.set_grad_enabled(True)
            results["weights"] = _sum_up(model)
            results["moved"] = (results["weights"] - before).abs().max()
            results["left"] = int(
                any(p.grad is not None and p.grad.any() for p in model.parameters())
            )
            results["frozen"] = int(not all(p.requires_grad for p in model.parameters()))
    torch.set_grad_enabled(True)
    second = _read_report(reports[2])
    results |= {f"again.{key}": value for key, value in second.items() if not key.endswith("plain")}
    results["again.weights"] = _sum_up(model)
    results["again.moved"] = (results["again.weights"] - before).abs().max()
    whole = diary.to_numbers()
    results |= {"again.batches": whole["batches"], "again.seen": whole["seen"]}
    results["steepest"] = whole["steepest"]
    if gpu:
        return results
    return results | (_try_longer(function, prepare, inputs) if "ids.longer" in inputs else {})


def _try_longer(function, prepare, inputs):
    """Go over more batches than there were so far, and write down which examples were used."""
    diary = Diary()
    _, act = prepare(function, inputs, diary)
    try:
        _call(act, 3, _make_loader(inputs["ids.longer"], inputs["labels.longer"], 2))
    except Failed as failure:
        return {"longer.problem": failure.args[0]}
    finally:
        torch.set_grad_enabled(True)
    return {"longer.seen": torch.tensor(diary.seen or [-1])}


def _try_device(function, prepare, inputs):
    """Return 1 when the work follows the model to its device, 0 when something stays behind."""
    gpu = PretendedGPU()
    diary = Diary(gpu)
    model, act = prepare(function, inputs, diary)
    _put_model_there(model)
    try:
        with pretending(gpu, function):
            _call(act, 1, _make_loaders(inputs)[0])
    except Failed as failure:
        return int(not (diary.stayed_behind or "same device" in str(failure)))
    except RecursionError:  # not of the learner's making
        return 1
    return 1


def _put_model_there(model):
    for tensor in (*model.parameters(), *model.buffers()):
        put_there(tensor)


# ------------------------------------------------------------------------ compute_accuracy


def _try_accuracy(functions, inputs):
    function = find_function(functions, "compute_accuracy")
    results = {}
    for case in ("some", "all", "none", "one"):
        predictions = torch.as_tensor(inputs[f"{case}.predictions"]).long().clone()
        labels = torch.as_tensor(inputs[f"{case}.labels"]).long().clone()
        kept = predictions.clone(), labels.clone()
        value = _call(function, predictions, labels)
        if value is ...:
            raise Failed(Problem("open|"))
        results[case] = Problem("none|") if value is None else _read_number(value)
        results[f"{case}.plain"] = _read_plainness(value)
        same = torch.equal(predictions, kept[0]) and torch.equal(labels, kept[1])
        results[f"{case}.kept"] = int(same)
    return results


# ------------------------------------------------------------------------------------ main


class ScriptConfig(PretrainedConfig):
    model_type = "script"


class ScriptedModel(PreTrainedModel):
    """A model whose answers in each epoch are written down beforehand.

    Which epoch it is shows in the batches of training data that it has seen; the number is saved
    with the weights. What an optimizer does to its one parameter shows in the losses a little. Of the
    training data it gets one answer fewer right when it is only evaluated there.
    """

    config_class = ScriptConfig
    script = None  # set while a trial runs: a model that was loaded again follows it too

    def __init__(self, config):
        super().__init__(config)
        self.num_labels = config.num_labels
        self.bias = torch.nn.Parameter(torch.zeros(2, dtype=torch.float64))
        self.register_buffer("batches", torch.zeros((), dtype=torch.int64))
        self.post_init()

    def _init_weights(self, module):
        pass

    def save_pretrained(self, save_directory, **named):
        place = Path(save_directory)  # a relative one must not end up beside the notebook
        super().save_pretrained(self.script[0]["scratch"] / place, **named)

    def forward(
        self, input_ids=None, attention_mask=None, *others, labels=None, return_dict=None, **named
    ):
        script = self.script[0]
        examples = input_ids[:, 1] - FIRST_WORD
        split = SPLITS[int(examples[0]) // APART]
        script["calls"][split] += 1
        script["latest"] = split
        if split == "train" and torch.is_grad_enabled():
            self.batches += 1
        epoch = max(1, math.ceil(int(self.batches) / script["train_batches"]))
        epoch = min(epoch, len(script[f"{split}.right"]))
        count = int(script[f"{split}.right"][epoch - 1])
        count -= int(split == "train" and not torch.is_grad_enabled())
        is_right = (examples % APART) < count
        truth = script["truth"][examples]
        said = torch.where(is_right, truth, 1 - truth)
        sureness = float(script[f"{split}.sureness"][epoch - 1])
        sign = torch.nn.functional.one_hot(said, 2).double() * 2 - 1
        logits = sureness * sign + self.bias / 20  # (B, 2)
        loss = None if labels is None else torch.nn.functional.cross_entropy(logits, labels)
        outputs = SequenceClassifierOutput(loss=loss, logits=logits)
        return outputs.to_tuple() if return_dict is False else outputs


class SteadySGD(torch.optim.SGD):
    """Plain gradient descent at one rate, whatever a schedule makes of it: that is allowed."""

    def step(self, closure=None):
        rates = [group["lr"] for group in self.param_groups]
        for group in self.param_groups:
            group["lr"] = self.defaults["lr"]
        try:
            return super().step(closure)
        finally:
            for group, rate in zip(self.param_groups, rates):  # noqa: B905
                group["lr"] = rate


class WatchedLoader(DataLoader):
    """Counts how often somebody starts to read it."""

    passes = 0

    def __iter__(self):
        type(self).passes += 1
        return super().__iter__()


def _try_main(functions, inputs):
    function = find_function(functions, "main")
    results = {}
    with _lent_tokenizer(functions, function):
        for case in ("long", "single", "hopeless"):
            epochs = int(inputs[f"{case}.epochs"])
            with tempfile.TemporaryDirectory() as scratch:
                results.update(_run_main(function, case, epochs, inputs, Path(scratch)))
    return results


@contextlib.contextmanager
def _lent_tokenizer(functions, function):
    """Give the learner's class a tokenizer, which `main` may want to save beside the model."""
    space = getattr(function, "__globals__", {})
    kind = functions.get("SST2Dataset", space.get("SST2Dataset"))
    if not isinstance(kind, type):
        yield
        return
    with _borrowed_class({"SST2Dataset": kind}):
        kind.tokenizer = make_tokenizer()
        yield


def _run_main(function, case, epochs, inputs, scratch):
    sizes = {split: len(inputs[f"{split}.labels"]) for split in SPLITS}
    batch_size = int(inputs["batch_size"])
    truth = torch.zeros(3 * APART, dtype=torch.int64)
    loaders = {}
    for number, split in enumerate(SPLITS):
        labels = torch.as_tensor(inputs[f"{split}.labels"]).long()
        truth[APART * number : APART * number + sizes[split]] = labels
        words = FIRST_WORD + APART * number + torch.arange(sizes[split])
        ids = torch.stack([torch.tensor([0, int(word), 2]) for word in words])
        loaders[split] = _make_loader(ids, labels, batch_size)
    watched = type("WatchedTest", (WatchedLoader,), {"passes": 0})
    loaders["test"] = watched(
        loaders["test"].dataset, batch_size=batch_size, collate_fn=loaders["test"].collate_fn
    )
    script = {
        "truth": truth,
        "scratch": scratch,
        "train_batches": math.ceil(sizes["train"] / batch_size),
        "calls": dict.fromkeys(SPLITS, 0),
        **{
            f"{split}.{what}": inputs[f"{split}.{what}"]
            for split in SPLITS
            for what in ("right", "sureness")
        },
    }
    script["validation.right"] = inputs.get(f"{case}.right", script["validation.right"])
    script["steps"] = dict.fromkeys(SPLITS, 0)  # of the given optimizer, after which data?
    model = ScriptedModel(ScriptConfig())
    optimizer = SteadySGD(model.parameters(), lr=0.1)
    optimizer.register_step_post_hook(lambda *_: _count_step(script))
    folder = scratch / "checkpoint"
    try:
        with _followed(script):
            history = _call(function, model, loaders, optimizer, epochs, folder)
    except Failed as failure:
        return {f"{case}.problem": failure.args[0], f"{case}.test": watched.passes}
    finally:
        torch.set_grad_enabled(True)
    return {
        f"{case}.steps": torch.tensor([script["steps"][split] for split in SPLITS]),
        f"{case}.history": _read_history(history),
        f"{case}.test": watched.passes + script["calls"]["test"],
        f"{case}.trained": script["calls"]["train"] / script["train_batches"],
        f"{case}.validated": script["calls"]["validation"],
        f"{case}.learned": model.bias.detach().clone(),
        **_read_checkpoint(case, folder, scratch, script["train_batches"]),
    }


@contextlib.contextmanager
def _followed(script):
    """Let every scripted model follow a script, and let transformers load one by its folder alone."""
    AutoConfig.register(ScriptConfig.model_type, ScriptConfig, exist_ok=True)
    AutoModelForSequenceClassification.register(ScriptConfig, ScriptedModel, exist_ok=True)
    ScriptedModel.script = [script]
    try:
        yield
    finally:
        ScriptedModel.script = None


def _count_step(script):
    if "latest" in script:
        script["steps"][script["latest"]] += 1


def _read_history(history):
    """Return one row per epoch: epoch, training loss and accuracy, validation loss and accuracy."""
    if history is None:
        return Problem("none|")
    if not isinstance(history, list):
        return Problem(f"type|{type(history).__name__}")
    rows = []
    for place, record in enumerate(history, start=1):
        if not isinstance(record, dict) or not {"epoch", "train", "validation"} <= set(record):
            if not isinstance(record, dict):
                return Problem(f"entry|Entry {place} is of type {type(record).__name__}")
            found = ", ".join(map(str, record)) or "nothing"
            return Problem(f"entry|Entry {place} has: {found}")
        row = [_read_number(record["epoch"])]
        for split in ("train", "validation"):
            report = _read_report(record[split])
            if "report" in report:
                kind, _, words = report["report"].partition("|")
                said = {"none": "is None", "type": f"is of type {words}"}.get(kind, f"has: {words}")
                return Problem(f"entry|Entry {place}, {split!r}, {said}")
            row += [report["loss"], report["accuracy"]]
        if any(isinstance(number, Problem) for number in row):
            return Problem(f"entry|Entry {place} holds something that is not a number")
        rows.append(row)
    return torch.tensor(rows, dtype=torch.float64) if rows else Problem("empty|")


def _read_checkpoint(case, folder, scratch, train_batches):
    """Say which epoch's model lies in the folder: 0 none, -1 something else than a model."""
    from safetensors.torch import load_file

    path = folder / "model.safetensors"
    files = [file for file in scratch.rglob("*") if file.is_file()]
    if not path.is_file():
        models = [file for file in files if file.name == "model.safetensors"]
        return {
            f"{case}.saved": -1.0 if files else 0.0,
            f"{case}.elsewhere": int(bool(models)),
        }
    saved = load_file(path)
    batches = float(saved["batches"]) if "batches" in saved else -1.0
    bias = saved["bias"].double() if "bias" in saved else torch.zeros(2)
    return {f"{case}.saved": batches / train_batches, f"{case}.elsewhere": 0, f"{case}.bias": bias}


_TRIALS = {
    "SST2Dataset": _try_dataset,
    "collate_fn": _try_collate,
    "make_dataloaders": _try_dataloaders,
    "train_one_epoch": _try_training,
    "compute_accuracy": _try_accuracy,
    "evaluate": _try_evaluation,
    "main": _try_main,
}
