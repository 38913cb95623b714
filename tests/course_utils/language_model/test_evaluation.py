import math

import pytest
import torch
import torch.nn.functional as F

from autograder.experiments.language_model import (
    EXPERIMENTS,
    Additive,
    dot_product,
    init_qkv_proj,
    split_heads,
    zero_after_softmax,
)
from course_utils.history import History
from course_utils.language_model.corpus import OWN_SENTENCES, PAD, START, make_corpus, pad_batch
from course_utils.language_model.evaluation import (
    FutureProbe,
    Measured,
    Run,
    compare,
    describe_final,
    evaluate_run,
    format_number,
    keep_short,
    map_attention,
    map_model,
    measure_documents,
    measure_grammar,
    measure_positions,
    measure_sentences,
    probe_future,
    score_heads,
    write_samples,
)
from course_utils.language_model.gpt import GPT, GPTConfig
from course_utils.language_model.grammar import generate_sentences
from course_utils.language_model.training import Settings, train


@pytest.fixture(scope="module")
def corpus():
    sentences, losses = generate_sentences(500, seed=0)
    splits = {"train": sentences, "dev": sentences[:40], "test": sentences[:40]}
    made = make_corpus("tiny", "Tiny.", splits)
    made.sentences = OWN_SENTENCES
    made.dev_grammar_losses = losses[:40]
    return made


@pytest.fixture(scope="module")
def model(corpus):
    torch.manual_seed(0)
    return GPT(GPTConfig(len(corpus.vocabulary)), dot_product, init_qkv_proj)


def test_document_losses_are_pytorchs_one_document_at_a_time(model, corpus):
    measured = measure_documents(model, corpus.dev, batch_size=7)
    for document, loss, count in zip(corpus.dev, measured.losses, measured.counts, strict=True):
        tokens = pad_batch([document])
        with torch.no_grad():
            theirs = F.cross_entropy(model(tokens[:, :-1])[0], tokens[0, 1:])
        assert loss.item() == pytest.approx(theirs.item(), rel=1e-5)
        assert count == len(document) - 1


def test_the_two_perplexities_differ_as_they_should():
    measured = Measured(torch.tensor([1.0, 3.0]), torch.tensor([9.0, 1.0]))
    assert measured.mean_perplexity == pytest.approx((math.e + math.e**3) / 2)
    assert measured.corpus_perplexity == pytest.approx(math.exp(1.2))


def test_losses_by_position_are_those_of_whole_sentences(model, corpus):
    bands = measure_positions(model, corpus.dev, band=10)
    longest = max(map(len, corpus.dev)) - 1
    assert next(iter(bands)) == "0 to 9" and list(bands)[-1].endswith(f"to {longest - 1}")
    losses = [
        F.cross_entropy(
            model(torch.tensor([document[:-1]]))[0], torch.tensor(document[1:]), reduction="none"
        )[10:20]
        for document in corpus.dev
    ]
    assert bands["10 to 19"] == pytest.approx(torch.cat(losses).mean().item(), rel=1e-4)
    with pytest.raises(ValueError, match="empty"):
        measure_positions(model, [])
    with pytest.raises(TypeError, match=r"corpus\.dev"):
        measure_positions(model, corpus)


def test_only_training_sentences_are_kept_short(corpus):
    longest = sorted(map(len, corpus.train))[len(corpus.train) // 2]
    short = keep_short(corpus, longest)
    assert max(map(len, short.train)) <= longest and 0 < len(short.train) < len(corpus.train)
    assert short.dev == corpus.dev
    assert f"only the {len(short.train):,} with at most {longest} tokens" in short.description
    with pytest.raises(ValueError, match="2 tokens or fewer"):
        keep_short(corpus, 2)


def test_heads_are_scored_by_what_they_look_at(corpus):
    def look_back(Q, K, V, n_heads=1, causal=True):
        return torch.cat([V[:, :1], V[:, :-1]], dim=1)  # everybody sees the token before

    model = GPT(GPTConfig(vocab_size=len(corpus.vocabulary)), look_back, init_qkv_proj)
    scores = score_heads(model, corpus.dev[:3])
    assert scores.previous.shape == (3, 3)
    assert torch.allclose(scores.previous, torch.ones(3, 3), atol=1e-5)
    assert scores.itself.abs().max() < 1e-5
    assert "layer 2, head 2" in str(scores) and 0 < scores.even < 0.5
    places = {line.find(".") for line in str(scores).splitlines()[1:]}
    assert "(an even spread:" in str(scores) and len(places) == 1, "one column"


def test_grammar_perplexity_is_a_floor_and_absent_where_unknown(model, corpus):
    best = measure_grammar(corpus)
    total = sum(corpus.dev_grammar_losses) / sum(len(d) - 1 for d in corpus.dev)
    assert best.corpus_perplexity == pytest.approx(math.exp(total))
    assert best.corpus_perplexity < measure_documents(model, corpus.dev).corpus_perplexity
    unknown = make_corpus("x", "X.", {"train": [["a"]] * 3, "dev": [["a"]], "test": [["a"]]})
    assert measure_grammar(unknown) is None


def test_samples_repeat_with_a_seed_start_with_the_prompt_and_never_pad(model, corpus):
    first = write_samples(model, corpus.vocabulary, n=3, prompt="Ada met", seed=1)
    assert first == write_samples(model, corpus.vocabulary, n=3, prompt="Ada met", seed=1)
    assert first != write_samples(model, corpus.vocabulary, n=3, prompt="Ada met", seed=2)
    for sample in first:
        assert sample.startswith("<START> Ada met ")
        assert "<PAD>" not in sample
        assert sample.count("<START>") == 1
        assert sample.count("<STOP>") <= 1
        assert len(sample.split()) <= 100


@pytest.mark.parametrize("T", [1, 3, 4, 5, 9, 17])
@pytest.mark.parametrize("n_heads", [1, 3])
def test_maps_are_the_weights(T, n_heads):
    """Whatever the number of tokens, fewer or more than a head has room for."""
    torch.manual_seed(0)
    Q, K = torch.randn(T, 12), torch.randn(T, 12)
    q, k = split_heads(Q[None], n_heads)[0], split_heads(K[None], n_heads)[0]
    scores = q @ k.mT / math.sqrt(12 / n_heads)
    scores = scores.masked_fill(torch.ones(T, T).triu(1).bool(), -math.inf)
    torch.testing.assert_close(map_attention(dot_product, Q, K, n_heads), scores.softmax(-1))


def test_maps_of_a_model_whose_attention_has_weights(corpus):
    model = GPT(GPTConfig(len(corpus.vocabulary)), Additive, init_qkv_proj)
    maps = map_model(model, corpus.train[0])
    T = len(corpus.train[0])
    assert maps.shape == (3, 3, T, T)
    torch.testing.assert_close(maps.sum(-1), torch.ones(3, 3, T))
    assert (maps.triu(1) == 0).all()


@pytest.mark.parametrize("experiment", EXPERIMENTS, ids=lambda e: e.name)
def test_only_the_leaky_mask_sees_the_future(corpus, experiment):
    torch.manual_seed(0)
    config = GPTConfig(len(corpus.vocabulary))
    model = GPT(config, experiment.attention, experiment.projections, experiment.positions)
    probe = probe_future(model, corpus.train[0])
    assert probe.sees_future == (experiment.name == "zero after softmax")
    assert ("sees the future" in probe.describe()) == probe.sees_future
    assert (probe.moved.diagonal() > 0.01).all(), "a changed token must move its own output"


def test_a_mask_off_by_one_sees_the_future(corpus):
    def off_by_one(Q, K, V, n_heads=1, causal=True):
        q, k, v = (split_heads(x, n_heads) for x in (Q, K, V))
        T = Q.shape[1]
        scores = (q @ k.mT).masked_fill(torch.ones(T, T).triu(2).bool(), -math.inf)
        return (scores.softmax(-1) @ v).transpose(1, 2).flatten(-2)

    model = GPT(GPTConfig(len(corpus.vocabulary)), off_by_one, init_qkv_proj)
    assert probe_future(model, corpus.train[0]).sees_future


def test_probe_works_at_the_edge_of_the_vocabulary(model, corpus):
    last = len(corpus.vocabulary) - 1
    assert not probe_future(model, [START, last, PAD, last]).sees_future


@pytest.fixture(scope="module")
def runs(corpus):
    made = []
    for name, attention in {"right": dot_product, "leaky": zero_after_softmax}.items():
        torch.manual_seed(0)
        model = GPT(GPTConfig(len(corpus.vocabulary)), attention, init_qkv_proj)
        history = train(model, corpus, Settings(n_train=128, n_validate=10))
        made.append(evaluate_run(name, model, corpus, history, n_train=50))
    return made


def test_compare_makes_and_saves_table_and_figure(runs, corpus, tmp_path):
    comparison = compare(runs, tmp_path / "out")
    assert (tmp_path / "out" / "comparison.png").stat().st_size > 5000
    text = (tmp_path / "out" / "comparison.md").read_text(encoding="utf-8")
    assert text == comparison.markdown
    rows = dict(line.strip("| ").split(" | ", 1) for line in text.splitlines() if " | " in line)
    assert (
        rows["development perplexity, mean over sentences"]
        .split(" | ")[0]
        .startswith(f"{runs[0].dev_perplexity:.0f}"[:2])
    )
    assert rows["sees the future"].startswith("no | yes")
    for i, sentence in enumerate(corpus.sentences, start=1):
        assert f"{runs[0].sentence_losses[sentence]:.3f}" in rows[f"sentence {i}, loss"]
        assert f"sentence {i}, perplexity" in rows
        assert f"{i}. {sentence}" in text
    for label in ("training time (min:s)", "final training loss", "parameters"):
        assert label in rows
    over_tokens = [format_number(r.dev_corpus_perplexity) for r in runs]
    assert rows["development perplexity, over all tokens"].split(" | ") == over_tokens
    assert "mean of documents" not in text and "(mean over sentences)" in text
    assert "Final training loss: the mean of each run's last 1 steps." in text
    for run in runs:
        assert run.samples[0] in text
    assert "The grammar that wrote the development sentences scores" in text


def test_compare_of_nothing_gets_a_sentence():
    with pytest.raises(ValueError, match="nothing to compare"):
        compare([])


def test_runs_save_and_load(runs, tmp_path):
    runs[0].save(tmp_path / "run.json")
    assert Run.load(tmp_path / "run.json") == runs[0]


def test_a_run_is_shown_in_one_line(runs):
    shown = repr(runs[1])
    assert "'leaky'" in shown and "sees the future: yes" in shown and len(shown) < 200


def test_steps_of_the_final_loss_are_named_for_each_run_where_they_differ():
    runs = [
        Run(name, History(losses=[1.0] * n), 1, {}, 1, 1, 1, 1, [], 0.0)
        for name, n in {"long": 3000, "short": 40}.items()
    ]
    assert describe_final(runs) == "the mean of each run's last steps: 100 (long), 4 (short)"


def test_sentences_are_those_of_the_corpus(model, corpus):
    assert list(measure_sentences(model, corpus)) == list(OWN_SENTENCES)


def test_a_look_at_the_very_next_token_is_a_leak():
    moved = torch.eye(4)
    moved[1, 2] = 0.5
    assert FutureProbe(moved).sees_future
    assert FutureProbe(moved).leak == 0.5
    assert not FutureProbe(moved.T).sees_future
