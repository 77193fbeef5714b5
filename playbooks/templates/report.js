/* Copyright (c) 2026, the goldennode.gpu authors
   GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
   SPDX-License-Identifier: GPL-3.0-or-later
   The filters of the page, and details that open when a link leads to them. Everything is readable without. */
"use strict";
(function () {
  var form = document.getElementById("filters");
  var count = document.getElementById("count");
  var none = document.getElementById("none");
  var rows = Array.prototype.map.call(document.querySelectorAll("table.m tbody tr"), function (row) {
    var cells = row.querySelectorAll("td[data-status]");
    var body = document.getElementById(row.dataset.node);
    return {
      row: row,
      details: body.parentNode,
      text: null,
      verdict: row.dataset.verdict,
      statuses: Array.prototype.map.call(cells, function (cell) { return cell.dataset.status; }),
      first: Array.prototype.findIndex.call(cells, function (cell) { return cell.classList.contains("first"); }) + 1
    };
  });

  function text(one) {
    if (one.text === null) { one.text = one.details.textContent.toLowerCase(); }
    return one.text;
  }

  function fits(one, wanted) {
    if (wanted.verdict && wanted.verdict !== one.verdict) { return false; }
    if (wanted.layer && !wanted.status && one.first !== wanted.layer) { return false; }
    if (wanted.layer && wanted.status && one.statuses[wanted.layer - 1] !== wanted.status) { return false; }
    if (!wanted.layer && wanted.status && one.statuses.indexOf(wanted.status) < 0) { return false; }
    return wanted.words.every(function (word) { return text(one).indexOf(word) >= 0; });
  }

  function filter() {
    var shown = 0;
    var wanted = {
      verdict: form.elements.verdict.value,
      layer: Number(form.elements.layer.value),
      status: form.elements.status.value,
      words: form.elements.text.value.toLowerCase().split(/\s+/).filter(Boolean)
    };
    rows.forEach(function (one) {
      var visible = fits(one, wanted);
      one.row.hidden = one.details.hidden = !visible;
      shown += visible ? 1 : 0;
    });
    none.hidden = shown > 0 || rows.length === 0;
    count.textContent = shown === rows.length ? rows.length + " nodes" : shown + " of " + rows.length + " nodes";
  }

  function openTarget() {
    var target = document.getElementById(location.hash.slice(1));
    var details = target && target.closest("details");
    if (!details) { return; }
    if (details.hidden) { form.reset(); filter(); }
    details.open = true;
    details.scrollIntoView();
    details.querySelector("summary").focus({ preventScroll: true });
  }

  form.addEventListener("submit", function (event) { event.preventDefault(); });
  form.addEventListener("input", filter);
  form.addEventListener("reset", function () { setTimeout(filter, 0); });
  window.addEventListener("hashchange", openTarget);
  document.addEventListener("click", function (event) {
    var link = event.target.closest("a[href^='#node-']");
    if (link && link.hash === location.hash) { openTarget(); }
  });
  window.addEventListener("beforeprint", function () {
    document.querySelectorAll("details.n:not(.golden)").forEach(function (one) { one.open = true; });
  });
  form.hidden = false;
  filter();
  openTarget();
}());
