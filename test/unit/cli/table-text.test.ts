import { expect, test } from 'vitest';
import { csvLine } from '../../../src/cli/csv-line.ts';
import { cellReader } from '../../../src/cli/row-cells.ts';
import { tableText } from '../../../src/cli/table-text.ts';

test('columns are aligned by characters, and every cell is one line', () => {
  expect(
    tableText(
      ['k', 'text'],
      [
        ['1', 'a\nb\tc'],
        ['22', 'żółw'],
      ],
    ),
  ).toBe('k  | text\n---+--------\n1  | a\\nb\\tc\n22 | żółw\n');
});

test('a cell beyond the bound is cut with an ellipsis', () => {
  expect(tableText(['k'], [['x'.repeat(11)]], 10)).toBe(`k\n----------\n${'x'.repeat(9)}…\n`);
});

test('cells are the characters of strings and the JSON text of everything else', () => {
  const cells = cellReader(['b', 'd', 's', 'n', 'a', 'missing']);
  expect(cells('{"a":[1, 2],"b":9007199254740993,"d":0.10,"n":null,"s":"q\\"\\u00e9\\n"}')).toEqual(
    ['9007199254740993', '0.10', 'q"é\n', undefined, '[1, 2]', undefined],
  );
});

test('CSV tells NULL from the empty text, and quotes what needs it', () => {
  expect(csvLine([undefined, '', 'a,b', 'say "hi"', 'two\nlines', '0.10'])).toBe(
    ',"","a,b","say ""hi""","two\nlines",0.10\n',
  );
});

test('a table of more rows than a call takes arguments is aligned as any other', () => {
  const rows = Array.from({ length: 200_000 }, (_, index) => [String(index)]);
  const lines = tableText(['k'], rows).split('\n');
  expect(lines[1]).toBe('-'.repeat(6));
  expect(lines.at(-2)).toBe('199999');
});
