import { describe, expect, test } from 'vitest';
import { seePassage } from '../../shared/proof/evidence/seenPassage.ts';

/** Whether words are in a text as a reader of its bytes sees them, or only with something left aside. */
function seen(source: string, mediaType: string, exact: string): 'exact' | 'loose' | 'absent' {
  const found = seePassage(Buffer.from(source), mediaType, { exact, prefix: '', suffix: '' });
  if (typeof found !== 'object') return 'absent';
  return found.isExact ? 'exact' : 'loose';
}

test.each([
  ['Opponents lie: we can pay. The minister said: we can\u00adnot pay, not now.', 'we can', 'loose'],
  ['Opponents lie: we can pay. The minister said: we can pay, not now.', 'we can', 'exact'],
  ['Nobody pays 250 euros a day. The minister said: 1 250 euros a day', '250 euros', 'loose'],
  ['Another text that says we can pay', 'we can', 'exact'],
])('of %j, %j is where it was recorded', (text, exact, state) => {
  const passage = { exact, prefix: 'The minister said: ', suffix: ' pay' };
  for (const type of ['text/plain', 'text/html']) {
    const found = seePassage(Buffer.from(text), type, passage);
    expect(found, type).toMatchObject({ isExact: state === 'exact' });
    const start = typeof found === 'object' ? found.start : -1;
    if (text.includes('minister') && exact === 'we can') expect(start, type).toBe(text.lastIndexOf('we can'));
  }
});

describe('in a table', () => {
  const csv = 'name,value,note\r\n"Dam, old",1,5\nNew,"1,5","says ""no"""\nLast,12,3 4\n';
  test.each([
    ['Dam, old\t1\t5'],
    ['Dam, old 1 5'],
    ['New\t1,5\tsays "no"'],
    ['1\t5\nNew'],
    ['12\t3 4'],
    ['3 4'],
  ])('the cells %j are seen', (words) => {
    expect(seen(csv, 'text/csv', words)).toBe('exact');
  });

  test.each([['1.5'], ['fee']])('the words %j of no cell are not', (words) => {
    expect(seen(csv, 'text/csv', words)).toBe('absent');
  });

  test.each([['15'], ['123'], ['34'], ['12,34'], ['12,3']])(
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
    ['10\t00'],
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
    ['2 injured, 10'],
    ['1000'],
    ['He is not'],
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

  test.each([
    ['<math><msup><mn>10</mn><mn>2</mn></msup></math>', '102'],
    ['<math><mfrac><mn>1</mn><mn>2</mn></mfrac></math>', '12'],
    ['<ruby>10<rt>5</rt></ruby>', '105'],
    ['<ruby>10<rp>0</rp></ruby>', '100'],
    ['10<rp>0</rp>', '100'],
    ['10<input value="x">5', '105'],
    ['10<img src="x">5', '105'],
    ['10<img src="x" alt="0">5', '1005'],
    ['10<video></video>5', '105'],
    ['10<x-y>5</x-y>', '105'],
    ['10<svg><text>5</text></svg>', '105'],
    ['<svg><metadata>not </metadata></svg>10', 'not 10'],
    ['<noembed>not </noembed>10', 'not 10'],
    ['<noembed/>not </noembed>10', 'not 10'],
    ['<noframes>not </noframes>10', 'not 10'],
    ['<math><annotation>not </annotation></math>10', 'not 10'],
    ['<dialog>not 10</dialog>', 'not 10'],
    ['<select><option>10<option>999</select>', '999'],
    ['<frameset cols="*"><frame src="x"></frameset><p>not 10</p>', 'not 10'],
    ['<script><!--<script></script>not 10</script>--></script>', 'not 10'],
    ['<bdo dir="rtl">01</bdo>', '01'],
    ['10\u00000', '10'],
    ['</p><table><tr><td>10</td></tr>not </table>', 'is 10'],
    ['</p><table><tr><td>1</td>not <table></table><td>10', 'is 1'],
    ['10<sup>\u200b2</sup>', '102'],
    ['10<sup>&#8203;</sup><sup>2</sup>', '102'],
    ['10<sup>\u{1d7d0}</sup>', '102'],
    // Not known to be a part of what is read around it.
    ['10 <input value="x">euros', '10 euros'],
    ['10 <img src="x" alt="of these">euros', '10 of these euros'],
    ['10 <x-y>euros</x-y>', '10 euros'],
    ['<select><option>10</select> in euros', 'in euros'],
    // Browsers end comments, tags and elements that are not shown in more ways.
    ['10<!-- --!>0<!-- --> euros', '10 euros'],
    ['10<!-->0<!-- --> euros', '10 euros'],
    ['10<![CDATA[>0<!--]]><!----> euros', '10 euros'],
    [`10<b></b x='>0<i y="'></b z='" '> euros`, '100 euros'],
    ['<canvas><p></canvas>not 10', 'not 10'],
    ['<video><div></video>not 10', 'not 10'],
    ['<datalist><p></datalist>not 10', 'not 10'],
    ['<dialog><marquee></dialog>not 10', 'not 10'],
    ['<svg><style><!-- </style></svg>not 10 -->', 'not 10'],
    ['<noscript><img alt="</noscript>not 10"></noscript>', 'not 10'],
    ['<span hidden>not 10</span>', 'not 10'],
    ['<div><template shadowrootmode="open"></template>not 10</div>', 'not 10'],
    ['<table><tfoot><tr><td>not 10<tbody><tr><td>or 5</table>', 'not 10 or 5'],
    ['3 \u00d7 10<sup>-6</sup>', 'fee is 3'],
    ['10<sup>-6</sup>', 'fee is 10'],
    ['10<sup>n</sup>', 'fee is 10'],
    ['10<script>x</script>0', 'fee is 10'],
    ['1\n250', '250 euros'],
    ['10<bdi>0</bdi>', 'fee is 10'],
    ['10<blink>0</blink>', 'fee is 10'],
    ['2 \u00bd', 'fee is 2'],
    ['<div>\u2212</div><div>250 euros</div>', '250 euros'],
    ['<svg><svg><g></svg></g></svg>not 10', 'not 10'],
  ])('of %j, no browser shows %j', (markup, words) => {
    expect(seen(`<!doctype html><p>The fee is ${markup} euros.`, 'text/html', words)).not.toBe('exact');
  });

  test.each([
    ['10 euros<script>x</script><meta name="x">', '10 euros'],
    ['<select><option>10</select> <p>in euros', 'in euros'],
    ['<svg><title>Sum</title><path d="M0"/></svg> <p>in euros', 'in euros'],
    ['<video><source src="x"></video> <p>in euros', 'in euros'],
    ['<svg><svg><g></g></svg></svg> <p>in euros', 'in euros'],
    ['1</p><p>250 euros', '250 euros'],
    ['<!-- [if IE]> x <![endif]-->in euros', 'in euros'],
    ['10<!-- -->0 euros', '100 euros'],
    ['<details><summary>More</summary>10 euros</details>', '10 euros'],
    ['<acronym>EU</acronym>R', 'EUR'],
    ['<table><tr> <td>10</td> <td>20</td> </tr> <tr><td>30</table>', '10\t20\n30'],
    ['<table><tr><td><table><tr><td>10</table> 20</table>', '10\n20'],
    ['<script>a < b; "<!-- x -->"</script>10', '10'],
    ['1<wbr>0', '10'],
    ['<ruby>漢<rt>かん</ruby>字を読む', '字を読む'],
  ])('of %j, a browser shows %j', (markup, words) => {
    expect(seen(`<!doctype html><p>The fee is ${markup}.`, 'text/html', words)).toBe('exact');
  });

  test.each([
    ['fell by \u22125 %', '5 %'],
    ['fell by \u2212 5 %', '5 %'],
    ['fell by \ufe635 %', '5 %'],
    ['fell by \u20135 %', '5 %'],
    ['fell by (-5) %', '5'],
    ['x=-5 %', '5 %'],
    ['lost -€5', '€5'],
    ['lost -€5', '5'],
    ['costs 1\u00a0250\u00a0000 euros', 'costs 1'],
    ['costs 1\u00a0250\u00a0000 euros', '000 euros'],
    ['costs 1\u202f250 euros', '250 euros'],
    ['costs 1\u2009250 euros', '250 euros'],
    ['costs 1 250 000 euros', '250 000 euros'],
    ['costs 1 250 000 euros', 'costs 1 250'],
    ["costs 1'250 euros", 'costs 1'],
    ['costs 1\u2019250 euros', '250 euros'],
    ['costs 1\u00b75 euros', 'costs 1'],
    ['costs ١\u066b٥', 'costs ١'],
    ['costs 1/2 euro', 'costs 1'],
    ['costs 5½', 'costs 5'],
    ['costs 1e6 euros', 'costs 1'],
    ['costs 1e6 euros', '6 euros'],
    ['costs 5k', 'costs 5'],
    ['costs 10^6 euros', 'costs 10'],
    ['costs 10\u2076 euros', 'costs 10'],
    ['costs 1.5 × 10^6 euros', 'costs 1.5'],
    ['costs 1.5×10\u2076 euros', '10\u2076 euros'],
    ['costs .5 euros', '5 euros'],
    ['costs 1.5', '.5'],
    ['costs 1,250', 'costs 1,'],
    ['at 10:30', 'at 10'],
    ['花费10万元', '花费10'],
    ['三百五十人', '三百'],
    ['We cannot pay', 'We can'],
    ["We can't pay", 'We can'],
    ['We can\u2019t pay', 'We can'],
    ['can\u200bnot', 'can'],
    ['It is unlawful', 'lawful'],
    ['a non-smoking room', 'smoking room'],
    ['a non\u2011smoking room', 'smoking room'],
    ['Nicht-EU-Bürger', 'EU-Bürger'],
    ['Das ist unmöglich', 'möglich'],
    ['не\u00adвиновен', 'виновен'],
    ['نمی\u200cخواهم', 'خواهم'],
    ['innocent\u0336', 'innocent'],
    ['\u0336innocent', 'innocent'],
    ['costs 3 × 10⁻⁶ euros', 'costs 3'],
    ['costs 3 ✕ 10⁶ euros', 'costs 3'],
    ['costs – 250 euros', '250 euros'],
    ['costs -\u00a0250 euros', '250 euros'],
    ['costs 1`250 euros', '250 euros'],
    ['We can`t pay', 'We can'],
    ['We can\u2032t pay', 'We can'],
    ['We can(not) pay', 'We can'],
    ['We can\u061cnot pay', 'We can'],
    ['We can\u206fnot pay', 'We can'],
    ['We can\u180enot pay', 'We can'],
    ['We can\u{e0061}not pay', 'We can'],
    ['We can**not** pay', 'We can'],
    ['We can\\u2019t pay', 'We can'],
  ])('%j goes on before or behind %j', (text, words) => {
    for (const type of ['text/html', 'text/plain']) expect(seen(text, type, words), type).toBe('loose');
  });

  test.each([
    ['“The fee is 20 euros,” she said—again.', 'The fee is 20 euros'],
    ['She said—again and again—no.', 'again and again'],
    ['He said: ‘No.’ Twice', 'No'],
    ['up 5%-10% this year', '10%'],
    ['lines 3–5, 7', '5, 7'],
    ['by 2019 150 people', '150 people'],
    ['Die Prüfung kostet 1.250,50 Euro – mehr nicht.', 'Die Prüfung kostet 1.250,50 Euro'],
    ['Der „Große Rat“ beschloß es am 3. Mai.', 'Große Rat'],
    ['C’est l’homme qu’il aime, aujourd’hui.', 'homme qu’il aime'],
    ['Coût : 1 250,50 €, dit-il.', '1 250,50 €'],
    ['«\u00a0Il n’est pas coupable.\u00a0»', 'Il n’est pas coupable'],
    ['قال الوزير: بلغت الكلفة ١٢٬٥٠٠ دولار.', 'بلغت الكلفة ١٢٬٥٠٠ دولار'],
    ['كَتَبَ الوَلَدُ الدَّرْسَ.', 'الوَلَدُ الدَّرْسَ'],
    ['据报道，该公司2019年支付了10万元罚款。', '2019年支付了10万元'],
    ['据报道，该公司支付了罚款。', '支付了罚'],
    ['会社は2019年に罰金を支払いました。', '罰金を支払いました'],
    ['サーバーのデータを消去した', 'データ'],
    ['บริษัทจ่ายค่าปรับ 500 บาทในปี 2562', 'จ่ายค่าปรับ 500 บาท'],
    ['บริษัทจ่ายค่าปรับ', 'จ่าย'],
    ['회사는 2019년에 벌금을 냈다.', '벌금을 냈다'],
    ['Компания заплатила 10 млн руб.', 'заплатила 10 млн'],
    ['לא אשם, אמר השופט', 'אמר השופט'],
    ['AI技術を使う', '技術を使う'],
    ['See note 3 [4].', 'note 3'],
  ])('%j says %j in full', (text, words) => {
    for (const type of ['text/html', 'text/plain']) expect(seen(text, type, words), type).toBe('exact');
  });

  test('a page of raised text is read in one pass', () => {
    const hostile = `<p>${'a'.repeat(600_000)}${'1<sup>a</sup>'.repeat(100_000)}`;
    expect(seen(hostile, 'text/html', 'not there')).toBe('absent');
  });

  test('many elements that are not shown are read in one pass', () => {
    for (const part of ['<svg><title></svg>', '<svg></svg>', '<title ', '<canvas>', '</b x', '<!-- --!>']) {
      const hostile = `<p>x<svg>${part.repeat(100_000)}</svg>`;
      expect(seen(hostile, 'text/html', 'not there'), part).toBe('absent');
    }
  });

  test('words without end and words of line breaks are read', () => {
    expect(seen('x', 'text/html', `${'\n'.repeat(49_000)}y`)).toBe('absent');
    const endless = { exact: 'x'.repeat(100_000), prefix: '', suffix: '' };
    expect(seePassage(Buffer.from('x'), 'text/html', endless)).toBe('unreadable');
  });

  test('what shows XML is not known', () => {
    const xml =
      '<?xml version="1.0"?><r><title>Fee</title><a>1</a><a>5</a><style>red</style><p>We can<![CDATA[not]]></p></r>';
    for (const type of [
      'application/xml',
      'application/octet-stream',
      'application/xhtml+xml',
      'image/svg+xml',
    ])
      for (const words of ['Fee', 'red', 'We can', '15']) expect(seen(xml, type, words), type).toBe('loose');
    expect(seen(xml, 'application/xml', '6')).toBe('absent');
  });

  test.each([
    ['application/json', '{"fee":"It was 1,250 euros a day"}', '250 euros a day'],
    ['application/json', '{"fee":"It was 1\\/2 of it"}', 'It was 1'],
    ['application/json', '{"fee":"We can\\u2019t pay"}', 'We can'],
    ['application/json', '{"fee":"We can<b>not</b> pay"}', 'We can'],
    ['text/csv', 'fee\n"It was 1,250 euros"\n', '250 euros'],
    ['text/calendar', 'SUMMARY:We can\r\n not pay', 'We can'],
    ['text/javascript', 'x = "We can" + "not pay"', 'We can'],
  ])('in %s, %j does not say %j', (type, source, words) => {
    expect(seen(source, type, words)).toBe('loose');
  });

  test.each([
    ['application/json', '{"fee":"It was paid", "by": ["them"]}', 'It was paid'],
    ['application/json', '{"fee":"It was paid","by":"them"}', 'It was paid'],
    ['text/csv', 'fee;day\n2,50;Monday\n', '2,50'],
    ['text/csv', 'fee\n"It was 1,250 euros"\n', 'It was 1,250 euros'],
  ])('in %s, %j says %j', (type, source, words) => {
    expect(seen(source, type, words)).toBe('exact');
  });

  test('white space in a plain text is of the words', () => {
    expect(seen('10\t00 the rapist', 'text/plain', '10 00')).toBe('exact');
    expect(seen('10\t00 the rapist', 'text/plain', '1000')).toBe('loose');
    expect(seen('10\t00 the rapist', 'text/plain', 'therapist')).toBe('loose');
    expect(seen('{"a":1,"b":[2]}', 'application/json', '"a": 1,\n"b": [\n2]')).toBe('exact');
  });
});
