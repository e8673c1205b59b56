import { describe, expect, test } from 'vitest';
import { seePassage } from '../../shared/proof/evidence/seenPassage.ts';

function seen(source: string, mediaType: string, exact: string): string {
  const found = seePassage(Buffer.from(source), mediaType, { exact, prefix: '', suffix: '' });
  return typeof found === 'string' ? found : found.text.slice(found.start, found.end);
}

describe('in a table', () => {
  const csv = 'name,value,note\r\n"Dam, old",1,5\nNew,"1,5","says ""no"""\nLast,12,3 4\n';
  test.each([
    ['Dam, old\t1\t5'],
    ['Dam, old 1 5'],
    ['New\t1,5\tsays "no"'],
    ['1\t5\nNew'],
    ['12,3'],
    ['3 4'],
  ])('the cells %j are seen', (words) => {
    expect(seen(csv, 'text/csv', words)).not.toBe('absent');
  });

  test.each([['15'], ['1 , 5'], ['123'], ['34'], ['Dam old'], ['1.5'], ['12,34']])(
    'the words %j of no cell are not',
    (words) => {
      expect(seen(csv, 'text/csv', words)).toBe('absent');
    },
  );

  test.each([
    [';', 'text/csv'],
    ['|', 'text/csv'],
    ['\t', 'text/tab-separated-values'],
  ])('the decimal comma is of the number, if %j is between cells', (delimiter, type) => {
    const table = `fee${delimiter}15${delimiter}2,5\n`;
    expect(seen(table, type, 'fee\t15\t2,5')).not.toBe('absent');
    expect(seen(table, type, '1,5')).toBe('absent');
    expect(seen(table, type, '25')).toBe('absent');
  });

  test('many quotes that nothing closes take no longer than their size', () => {
    const hostile = ',""x,"'.repeat(200_000);
    expect(seen(hostile, 'text/csv', 'not there')).toBe('absent');
  });
});

describe('in a list', () => {
  const html = '<p>Costs:</p><ul><li>40 million<li>a <b>third</b></ul><p>50 million</p><ol><li>60</ol>';
  test.each([
    ['- 40 million'],
    ['Costs:\n- 40 million\n- a third'],
    ['40 million a third'],
    ['1. 60'],
    ['50'],
  ])('%j is seen', (words) => {
    expect(seen(html, 'text/html', words)).not.toBe('absent');
  });

  test.each([['- 50 million'], ['3. 50 million'], ['Costs:\n- 50 million'], ['- million'], ['- 60\n- 1']])(
    '%j is not: no item begins there',
    (words) => {
      expect(seen(html, 'text/html', words)).toBe('absent');
    },
  );
});
