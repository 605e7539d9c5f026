// The page is complete without this: it sorts and searches the table of layers, and unfolds the
// card that a link leads to.
'use strict';
(function () {
  function unfold() {
    var card = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    for (var at = card; at; at = at.parentElement) {
      if (at.tagName === 'DETAILS') at.open = true;
    }
    if (card) card.scrollIntoView();
  }
  window.addEventListener('hashchange', unfold);
  if (location.hash) unfold();

  var table = document.querySelector('table.layers');
  if (!table) return;
  var body = table.tBodies[0];
  var rows = Array.from(body.rows);
  var headers = Array.from(table.tHead.rows[0].cells);

  function key(row, column) {
    var cell = row.cells[column];
    var number = cell.getAttribute('data-sort');
    return number ? Number(number) : cell.textContent;
  }
  // Cells without a number come last, whichever way the others go.
  function compare(a, b, sign) {
    if (typeof a !== typeof b) return typeof a === 'number' ? -1 : 1;
    return sign * (typeof a === 'number' ? a - b || 0 : a.localeCompare(b));
  }
  headers.forEach(function (header, column) {
    var button = document.createElement('button');
    button.type = 'button';
    button.textContent = header.textContent;
    header.textContent = '';
    header.appendChild(button);
    button.addEventListener('click', function () {
      var sign = header.getAttribute('aria-sort') === 'ascending' ? -1 : 1;
      headers.forEach(function (other) { other.removeAttribute('aria-sort'); });
      header.setAttribute('aria-sort', sign === 1 ? 'ascending' : 'descending');
      rows.sort(function (a, b) { return compare(key(a, column), key(b, column), sign); });
      rows.forEach(function (row) { body.appendChild(row); });
    });
  });

  var label = document.createElement('label');
  label.className = 'find';
  label.textContent = 'Find a layer';
  var input = document.createElement('input');
  input.type = 'search';
  label.appendChild(input);
  var place = table.parentNode;
  place.parentNode.insertBefore(label, place);
  input.addEventListener('input', function () {
    var wanted = input.value.toLowerCase();
    rows.forEach(function (row) {
      row.hidden = row.textContent.toLowerCase().indexOf(wanted) === -1;
    });
  });
})();
