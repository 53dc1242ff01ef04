// The matrix: a cell for each pair of versions, darker where more of the row's version is in the other.

const drawSharing = (sharing, table, tell) => {
  const { versions, bytes } = sharing;
  const isRoomy = versions.length <= 10;
  table.classList.toggle('roomy', isRoomy);
  const corner = make('td', { role: 'presentation' });
  const head = make('tr', { role: 'row' }, corner, ...versions.map(version =>
    make('th', { scope: 'col', role: 'columnheader', title: version }, make('span', { textContent: version }))));
  const describe = (row, column) => row === column
    ? `${versions[row]} has ${sizeText(bytes[row][row])}`
    : `${versions[row]} and ${versions[column]} have ${sizeText(bytes[row][column])} in common: `
      + `${percentText(bytes[row][column], bytes[row][row])} of ${versions[row]}, `
      + `${percentText(bytes[row][column], bytes[column][column])} of ${versions[column]}`;
  const rows = versions.map((version, row) => make('tr', { role: 'row' },
    make('th', { scope: 'row', role: 'rowheader', title: version, textContent: version }),
    ...versions.map((_, column) => {
      const share = bytes[row][row] ? bytes[row][column] / bytes[row][row] : 0;
      const words = row === column ? sizeText(bytes[row][row]) : percentText(bytes[row][column], bytes[row][row]);
      const cell = make('td', { role: 'gridcell', tabIndex: row + column ? -1 : 0, ariaLabel: describe(row, column) });
      if (isRoomy) cell.textContent = words;
      // Text stands on it, so it never gets darker than text allows.
      const colour = row === column ? 'var(--directory)'
        : `color-mix(in srgb, var(--shared) ${Math.round(share * (isRoomy ? 50 : 100))}%, var(--card))`;
      cell.style.background = colour;
      if (row !== column && !share) cell.style.boxShadow = 'inset 0 0 0 1px var(--line)';
      return cell;
    })));
  const body = make('tbody', { role: 'rowgroup' }, ...rows);
  table.replaceChildren(make('thead', { role: 'rowgroup' }, head), body);
  const place = cell => [cell.parentElement.rowIndex - 1, cell.cellIndex - 1];
  const cellOf = event => event.target.closest('td[role="gridcell"]');
  for (const kind of ['pointerover', 'focusin']) {
    body.addEventListener(kind, event => {
      const cell = cellOf(event);
      if (cell) tell(describe(...place(cell)));
    });
  }
  body.addEventListener('keydown', event => {
    const cell = cellOf(event);
    if (!cell) return;
    const [row, column] = place(cell);
    const last = versions.length - 1;
    const next = {
      ArrowRight: [row, column + 1], ArrowLeft: [row, column - 1], ArrowDown: [row + 1, column],
      ArrowUp: [row - 1, column], Home: [row, 0], End: [row, last]
    }[event.key];
    if (!next) return;
    event.preventDefault();
    const [to, over] = next.map(each => Math.min(Math.max(each, 0), last));
    const target = table.rows[to + 1].cells[over + 1];
    cell.tabIndex = -1;
    target.tabIndex = 0;
    target.focus();
  });
};
