import { expect, test } from 'vitest';
import { type Claim, type ClaimId, decide, FORMATS, type Format } from '../../shared/proof/verdict.ts';

const FORMAT_NAMES = Object.keys(FORMATS) as Format[];

function claim<Of extends Format>(id: string, state: Claim['state'] = 'holds'): Claim<ClaimId<Of>> {
  return { id: id as ClaimId<Of>, name: `It has ${id}.`, state, detail: '' };
}

function ruleOf(format: Format, id: string): string | undefined {
  return (FORMATS[format] as Readonly<Record<string, string>>)[id];
}

/** Every claim that a format may have, each in the state that an intact file has. */
function allOf(format: Format): Claim<ClaimId<Format>>[] {
  return Object.keys(FORMATS[format]).map((id) =>
    claim(id, ruleOf(format, id) === 'stated' ? 'claimed' : 'holds'),
  );
}

test.each(FORMAT_NAMES)('%s is intact only with each claim that it must have', (format) => {
  const all = allOf(format);
  expect(decide(format, all as never)).toEqual({ verdict: 'intact', because: [] });
  for (const [index, { id }] of all.entries()) {
    const rule = ruleOf(format, id);
    const needed = rule === 'signature' ? 'unsigned' : rule === 'must' ? 'unknown' : 'intact';
    expect(decide(format, all.toSpliced(index, 1) as never).verdict, id).toBe(needed);
    const inState = (state: Claim['state']) =>
      decide(format, all.toSpliced(index, 1, claim(id, state)) as never).verdict;
    expect(inState('fails'), id).toBe('altered');
    const open = rule === 'stated' ? 'intact' : rule === 'signature' ? 'unsigned' : 'unknown';
    expect(inState('unproven'), id).toBe(open);
    expect(inState('claimed'), id).toBe(open);
    // One that holds does not make up for another one of the same kind.
    expect(decide(format, [...all, claim(id, 'fails')] as never).verdict, id).toBe('altered');
    expect(decide(format, [...all, claim(id, 'unproven')] as never).verdict, id).toBe(open);
  }
});

test('nothing at all proves nothing, and a claim that no list has is an error', () => {
  for (const format of FORMAT_NAMES) expect(decide(format, []).verdict, format).toBe('unknown');
  for (const id of ['other', '__proto__', 'constructor', 'toString'])
    expect(() => decide('pack', [claim(id)] as never), id).toThrow(`has no claim ${id}`);
});
