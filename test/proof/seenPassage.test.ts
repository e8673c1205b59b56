import { describe, expect, test } from 'vitest';
import { seePassage } from '../../shared/proof/evidence/seenPassage.ts';

/** Whether words are in a text as a reader of its bytes sees them, or only with something left aside. */
function seen(source: string, mediaType: string, exact: string): 'exact' | 'loose' | 'absent' {
  const found = seePassage(Buffer.from(source), mediaType, { exact, prefix: '', suffix: '' });
  if (typeof found !== 'object') return 'absent';
  return found.isExact ? 'exact' : 'loose';
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
    expect(seen(csv, 'text/csv', words)).toBe('exact');
  });

  test.each([['Dam old'], ['1.5'], ['fee']])('the words %j of no cell are not', (words) => {
    expect(seen(csv, 'text/csv', words)).toBe('absent');
  });

  test.each([['15'], ['123'], ['34'], ['12,34']])(
    'the digits of two cells are not the number %s',
    (words) => {
      expect(seen(csv, 'text/csv', words)).toBe('loose');
    },
  );

  test.each([
    [';', 'text/csv'],
    ['|', 'text/csv'],
    ['\t', 'text/tab-separated-values'],
  ])('the decimal comma is of the number, if %j is between cells', (delimiter, type) => {
    const table = `fee${delimiter}15${delimiter}2,5\n`;
    expect(seen(table, type, 'fee\t15\t2,5')).toBe('exact');
    expect(seen(table, type, '1,5')).toBe('absent');
    expect(seen(table, type, '25')).not.toBe('exact');
    expect(seen(table, type, '152,5')).toBe('loose');
  });

  test('many quotes that nothing closes are read', () => {
    const hostile = ',""x,"'.repeat(200_000);
    expect(seen(hostile, 'text/csv', 'not there')).toBe('absent');
  });
});

describe('in a page', () => {
  const html = `<p>Costs:</p><ul><li>40 million<li>5 % growth<li>a <b>third</b></ul><p>50 million</p>
    <ol><li>60<li>Safe</ol><ol start="7"><li>Later</ol><ol type="a"><li>Lettered</ol>
    <p>The t<i>her</i>apist said: 1</p><p>2 injured, 10<sup>2</sup> homes</p>
    <table><tr><td>10</td><td>00</td></tr></table>He is <textarea>not</textarea> guilty\u0336.`;
  test.each([
    ['Costs:\n- 40 million'],
    ['40 million'],
    ['- a third'],
    ['1. 60\n2. Safe'],
    ['the therapist said: 1'.replace('the', 'The')],
    ['2 injured, 10'],
    ['10\t00'],
    ['He is not'],
    ['50'],
  ])('%j is seen', (words) => {
    expect(seen(html, 'text/html', words)).toBe(words.includes('- 40') ? 'loose' : 'exact');
  });

  test.each([
    ['- 50 million'],
    ['3. 50 million'],
    ['- 5 % growth'],
    ['3000. Safe'],
    ['1. Later'],
    ['a. Lettered'],
    ['The t her apist'],
    ['The the rapist'.replace('the ', 't he')],
    ['12 injured'],
    ['102 homes'],
    ['1000'],
    ['He is guilty'],
    ['guilty'],
    ['40 million 5 % growtha'],
  ])('%j says something else, and is only found with something left aside', (words) => {
    expect(seen(html, 'text/html', words)).not.toBe('exact');
  });

  test.each([['60 million'], ['- 60\n- 1'], ['innocent']])('%j is not', (words) => {
    expect(seen(html, 'text/html', words)).toBe('absent');
  });

  test('the elements of XML are apart, and none of them is hidden', () => {
    const xml = '<?xml version="1.0"?><r><title>Fee</title><a>1</a><a>5</a><style>red</style></r>';
    for (const words of ['Fee\n1', '1\n5', 'red']) expect(seen(xml, 'application/xml', words)).toBe('exact');
    expect(seen(xml, 'application/xml', '15')).toBe('loose');
  });

  test('white space in a plain text is of the words', () => {
    expect(seen('10\t00 the rapist', 'text/plain', '10 00')).toBe('exact');
    expect(seen('10\t00 the rapist', 'text/plain', '1000')).toBe('loose');
    expect(seen('10\t00 the rapist', 'text/plain', 'therapist')).toBe('loose');
    expect(seen('{"a":1,"b":[2,3]}', 'application/json', '"a": 1,\n"b": [\n2,')).toBe('exact');
  });
});
