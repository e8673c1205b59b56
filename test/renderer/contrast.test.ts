import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';

const css = readFileSync(join(import.meta.dirname, '../../renderer/src/styles/tokens.css'), 'utf8');

/** The colours of one theme, by name. */
function tokensOf(look: 'light' | 'dark'): Map<string, string> {
  const block = css.split(`:root[data-mantine-color-scheme="${look}"] {`)[1]?.split('}')[0] ?? '';
  return new Map(
    [...block.matchAll(/--([\w-]+): (#[0-9a-f]{6});/g)].map(([, name = '', hex = '']) => [name, hex]),
  );
}

/** Returns the relative luminance (WCAG 2.2). */
function luminance(hex: string): number {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5]
    .map((at) => Number.parseInt(hex.slice(at, at + 2), 16) / 255)
    .map((value) => (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4));
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

function contrast(one: string, other: string): number {
  const [dark = 0, light = 0] = [luminance(one), luminance(other)].sort((left, right) => left - right);
  return (light + 0.05) / (dark + 0.05);
}

const TEXTS = ['text', 'muted', 'accent', 'accent-strong', 'good', 'warn', 'bad'];
const GROUNDS = ['paper', 'sheet', 'sunk'];

describe.each(['light', 'dark'] as const)('the colours of the %s theme', (look) => {
  const tokens = tokensOf(look);
  const of = (name: string) => tokens.get(name) ?? expect.fail(`there is no --${name}`);

  test('all text has a contrast of 4.5:1 on every background (WCAG 2.2, 1.4.3)', () => {
    const pairs = TEXTS.flatMap((text) => GROUNDS.map((ground) => [text, ground] as const));
    const soft = ['good', 'warn', 'bad', 'accent'].map((tone) => [tone, `${tone}-soft`] as const);
    for (const [text, ground] of [...pairs, ...soft, ['on-accent', 'accent'] as const]) {
      expect(contrast(of(text), of(ground)), `${text} on ${ground}`).toBeGreaterThanOrEqual(4.5);
    }
  });

  test('field borders have a contrast of 3:1 (WCAG 2.2, 1.4.11)', () => {
    for (const ground of ['paper', 'sheet']) {
      expect(contrast(of('line-strong'), of(ground)), `line-strong on ${ground}`).toBeGreaterThanOrEqual(3);
    }
  });
});

test.each(['server/copies/pages/browser/pages.css', 'server/http/docs/page.ts'])(
  '%s has these colours',
  (file) => {
    const text = readFileSync(join(import.meta.dirname, '../..', file), 'utf8');
    const used = [...text.matchAll(/--([\w-]+): light-dark\((#[0-9a-f]{6}), (#[0-9a-f]{6})\)/g)];
    expect(used.length).toBeGreaterThan(8);
    for (const [, name = '', light, dark] of used)
      expect([name, light, dark]).toEqual([name, tokensOf('light').get(name), tokensOf('dark').get(name)]);
  },
);
