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

  test.each([['1.5'], ['fee']])('the words %j of no cell are not', (words) => {
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
    expect(seen(table, type, '1,5')).not.toBe('exact');
    expect(seen(table, type, '25')).not.toBe('exact');
    expect(seen(table, type, '152,5')).toBe('loose');
  });

  test.each([
    ['"Dam" ,"He said ""no""" ,5', 'Dam\tHe said "no"\t5'],
    ['"x, y" ,5', 'x, y\t5'],
    ['a,"b ""q"""x,d', 'a\tb "q"x\td'],
  ])('of %j, what a node reads in it is seen', (line, words) => {
    for (const type of ['text/csv', 'text/comma-separated-values'])
      expect(seen(`${line}\n`, type, words)).not.toBe('absent');
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
    ['The therapist said: 1'],
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
    ['The therapist said: 12'],
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

  test('raised text belongs to its word, and raised digits are a number of their own', () => {
    const raised = 'CO<sub>2</sub>, 1<sup>er</sup> mai, 10<sup>2</sup> m, note<sup>3</sup>, x<sup>2</sup>0';
    for (const words of ['CO2, 1er mai', 'note3', 'm, note'])
      expect(seen(raised, 'text/html', words), words).toBe('exact');
    for (const words of ['102 m', 'x20']) expect(seen(raised, 'text/html', words), words).toBe('loose');
  });

  test.each([
    ['150 million', '50 million'],
    ['1,150 million', '150 million'],
    ['paid 1500 euros', 'paid 15'],
    ['costs 1.250,50', 'costs 1'],
    ['costs 1.250,50', '250,50'],
    ['fell by -5 %', '5 %'],
  ])('%j does not say %j', (text, words) => {
    for (const type of ['text/html', 'text/plain']) expect(seen(text, type, words)).toBe('loose');
  });

  test.each([
    ['in 2019, 50 million', '50 million'],
    ['in 2019. 15', 'in 2019'],
    ['pages 3-5.', '5'],
    ['version 2', 'version 2'],
  ])('%j says %j', (text, words) => {
    for (const type of ['text/html', 'text/plain']) expect(seen(text, type, words)).toBe('exact');
  });

  test('words without end and words of line breaks are read', () => {
    expect(seen('x', 'text/html', `${'\n'.repeat(49_000)}y`)).toBe('absent');
    const endless = { exact: 'x'.repeat(100_000), prefix: '', suffix: '' };
    expect(seePassage(Buffer.from('x'), 'text/html', endless)).toBe('unreadable');
  });

  test('the elements of XML are apart, and none of them is hidden', () => {
    const xml = '<?xml version="1.0"?><r><title>Fee</title><a>1</a><a>5</a><style>red</style></r>';
    for (const words of ['Fee\n1', '1\n5', 'red']) expect(seen(xml, 'application/xml', words)).toBe('exact');
    expect(seen(xml, 'application/octet-stream', '1\n5')).toBe('exact');
    expect(seen(xml, 'application/xml', '15')).toBe('loose');
  });

  test('white space in a plain text is of the words', () => {
    expect(seen('10\t00 the rapist', 'text/plain', '10 00')).toBe('exact');
    expect(seen('10\t00 the rapist', 'text/plain', '1000')).toBe('loose');
    expect(seen('10\t00 the rapist', 'text/plain', 'therapist')).toBe('loose');
    expect(seen('{"a":1,"b":[2,3]}', 'application/json', '"a": 1,\n"b": [\n2,')).toBe('exact');
  });
});
