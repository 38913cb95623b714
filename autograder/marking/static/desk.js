// Keys for the marking desk. Everything works without them: these only press buttons that are there.
"use strict";

const page = document.getElementById("answer-page");
const form = document.getElementById("mark");
const comment = document.getElementById("comment");

function isTyping(target) {
  return target.matches("textarea, input:not([type=checkbox]):not([type=number])");
}

function usesKeys() {
  return localStorage.getItem("desk-keys") !== "off";
}

// ------------------------------------------------------------------------------------ the sum

function findItems() {
  return [...form.querySelectorAll("[data-item]")];
}

function count(item) {
  return item.type === "checkbox" ? Number(item.checked) : Number(item.value) || 0;
}

function showSum() {
  const points = Number(page.dataset.points);
  const earned = findItems().reduce((sum, item) => sum + count(item) * Number(item.dataset.worth), 0);
  const sum = earned + (Number(form.adjustment.value) || 0);
  const capped = Math.min(Math.max(sum, 0), points);
  document.getElementById("sum").value = String(Math.round(capped * 10000) / 10000);
}

function press(item) {
  if (item.type === "checkbox") {
    item.checked = !item.checked;
  } else {
    item.value = count(item) >= Number(item.max) ? 0 : count(item) + 1;
  }
  showSum();
}

function adjust(direction) {
  const step = Number(page.dataset.step);
  form.adjustment.value = Math.round(((Number(form.adjustment.value) || 0) + direction * step) * 100) / 100;
  showSum();
}

// -------------------------------------------------------------------------------- the comment

function quote(number) {
  const item = form.querySelector(`[data-item="${number}"]`);
  if (!item) return;
  const words = item.closest("li").querySelector(".words").innerText.trim();
  comment.value = comment.value.trim() ? `${comment.value.trimEnd()} ${words}` : words;
  filterComments();
}

function findOffers() {
  return [...document.querySelectorAll("#remembered button")].filter((b) => !b.parentElement.hidden);
}

function filterComments() {
  const typed = comment.value.trim().toLowerCase();
  let shown = 0;
  for (const offer of document.querySelectorAll("#remembered button")) {
    const words = offer.dataset.comment.toLowerCase();
    const fits = words.includes(typed) && words !== typed && shown < 6;
    offer.parentElement.hidden = !fits;
    shown += fits ? 1 : 0;
  }
}

function walkOffers(event) {
  const offers = findOffers();
  const index = offers.indexOf(document.activeElement);
  if (event.key === "ArrowDown" && (event.target === comment ? atEnd() : index >= 0)) {
    const next = offers[index + 1];
    if (next) { event.preventDefault(); next.focus(); }
  } else if (event.key === "ArrowUp" && index >= 0) {
    event.preventDefault();
    (offers[index - 1] || comment).focus();
  } else if (event.key === "Escape" && (event.target === comment || index >= 0)) {
    document.activeElement.blur();
  }
}

function atEnd() {
  return comment.selectionStart === comment.value.length;
}

// -------------------------------------------------------------------------------------- keys

function pressKey(event) {
  if (form) walkOffers(event);
  if (form && event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
    event.preventDefault();
    form.requestSubmit();
    return;
  }
  if (!usesKeys() || event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
  const link = document.querySelector(`[data-key="${CSS.escape(event.key)}"]`);
  if (link) {
    event.preventDefault();
    link.click();
  } else if (form) {
    pressInForm(event);
  }
}

function pressInForm(event) {
  const digit = /^(?:Digit|Numpad)([0-9])$/.exec(event.code);
  const inNumber = event.target.matches("input[type=number]");
  if (digit && !inNumber) {
    event.preventDefault();
    if (event.shiftKey && digit[1] !== "0") {
      quote(digit[1]);
    } else if (digit[1] === "0") {
      for (const item of findItems()) { item.type === "checkbox" ? (item.checked = false) : (item.value = 0); }
      form.adjustment.value = 0;
      showSum();
    } else {
      const item = form.querySelector(`[data-item="${digit[1]}"]`);
      if (item) press(item);
    }
  } else if ((event.key === "+" || event.key === "-") && !inNumber) {
    event.preventDefault();
    adjust(event.key === "+" ? 1 : -1);
  } else if (event.key === "c") {
    event.preventDefault();
    comment.focus();
  } else if (event.key === "a") {
    const others = [...form.querySelectorAll("input[name^=also-]")];
    const all = others.every((box) => box.checked);
    for (const box of others) box.checked = !all;
  } else if (event.key === "?") {
    const help = document.querySelector("details.keys");
    help.open = !help.open;
    if (help.open) help.scrollIntoView();
  } else if (event.key === "Enter" && !event.target.closest("button, a, summary")) {
    event.preventDefault();
    form.requestSubmit();
  }
}

// ------------------------------------------------------------------------ having an answer open

function tell(what) {
  const body = new FormData();
  for (const name of ["_xsrf", "ticket"]) body.append(name, form.elements[name].value);
  navigator.sendBeacon(`${page.dataset.lease}/${what}`, body);
}

// ------------------------------------------------------------------- where an answer stands

// Without this the page is opened anew, and what was ticked is lost.
async function putPlace(event) {
  event.preventDefault();
  const body = new URLSearchParams(new FormData(event.target, event.submitter));
  const kept = await fetch(event.target.action, { method: "POST", body, redirect: "manual" });
  const saved = kept.type === "opaqueredirect";
  const figure = event.submitter.closest("figure, details");
  const words = document.getElementById("place");
  words.textContent = !saved ? "That was not saved." : event.submitter.value ? "Saved: the answer is at " : "Saved.";
  if (saved && event.submitter.value) {
    const [key, page] = event.submitter.value.split(":");
    const link = Object.assign(document.createElement("a"), {
      href: `#page-${key}-${page}`,
      textContent: figure.querySelector("img")?.alt ?? "this file",
    });
    link.dataset.key = "p";
    words.append(link);
  }
}

document.getElementById("put-place")?.addEventListener("submit", putPlace);
document.addEventListener("keydown", pressKey);
if (form) {
  let sent = false;
  form.addEventListener("input", showSum);
  form.addEventListener("submit", (event) => {
    if (sent) { event.preventDefault(); return; } // one press, one mark
    sent = true;
  });
  comment.addEventListener("input", filterComments);
  for (const button of form.querySelectorAll("[data-quote]")) {
    button.addEventListener("click", () => quote(button.dataset.quote));
  }
  document.getElementById("remembered").addEventListener("click", (event) => {
    const offer = event.target.closest("button");
    if (!offer) return;
    comment.value = offer.dataset.comment;
    comment.focus();
    filterComments();
  });
  const box = document.getElementById("use-keys");
  box.checked = usesKeys();
  box.addEventListener("change", () => localStorage.setItem("desk-keys", box.checked ? "on" : "off"));
  setInterval(() => tell("keep"), 5 * 60 * 1000);
  addEventListener("pageshow", (event) => { if (event.persisted) location.reload(); });
  addEventListener("pagehide", () => { if (!sent) tell("leave"); });
  showSum();
  filterComments();
}
