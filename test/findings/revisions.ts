import { createHash } from 'node:crypto';
import { type Anchoring, anchorPassage, locatePassage } from '../../shared/findings/anchor.ts';
import type { Passage } from '../../shared/findings/finding.ts';
import { seededRandom } from '../support/seededRandom.ts';

/*
 * Texts that look like those of pages, PDFs, tables and Markdown, each with a quoted passage, and revisions of them that say
 * where the passage is now. Everything follows from a seed.
 */

interface Word {
  text: string;
  /** Whether it belongs to the passage. */
  isQuoted: boolean;
  /** It was put in beside the passage later: whether it belongs to the passage, nobody can say. */
  isBeside?: boolean;
  /** Which copy of the passage it belongs to. */
  copy?: number;
}

type Block = Word[];

const STYLES = ['page', 'pdf', 'table', 'markdown', 'rtl'] as const;
type Style = (typeof STYLES)[number];

/** How a document is written as text: what changes if only the layout or the extractor does. */
interface Layout {
  width: number;
  divides: boolean;
  ligatures: boolean;
  space: string;
  quotes: boolean;
}

const LATIN =
  'the fee of annual report office first difficult file authority water level measured at station river budget committee decision adopted by council percent increase since efficient waffle final offer Straße Gebühr für Öffnung état réduction not for in on and with public notice shall be paid within thirty days after receipt'.split(
    ' ',
  );
const RIGHT_TO_LEFT =
  'الرسوم السنوية تبلغ عشرين دينارا لكل طالب في الجامعة وقد قررت اللجنة زيادة الميزانية بعد الاجتماع الأول המועצה החליטה על העלאת התעריף החדש בשנה הבאה לאחר דיון ארוך'.split(
    ' ',
  );

/** Half of the words are the most frequent ones, and half are seldom. */
const SYLLABLES =
  'an ber ca den e fi flu ge ho im ju ka li mo na ö per qui ra ste tu ü val wes xe yo zi ffe'.split(' ');
const SYLLABLES_RIGHT_TO_LEFT = 'با لا تم سو كي رة مد نف قل של מי תו כר ני דב'.split(' ');

type Random = () => number;
const pick = <Item>(items: readonly Item[], random: Random): Item =>
  items[Math.floor(random() * items.length)] as Item;
const between = (low: number, high: number, random: Random) => low + Math.floor(random() * (high - low + 1));

function newWord(style: Style, random: Random): string {
  if (random() < 0.1) return `${between(1, 999, random)}${pick(['', '', '.50', '%'], random)}`;
  const isRightToLeft = style === 'rtl';
  if (random() < 0.5) return pick(isRightToLeft ? RIGHT_TO_LEFT : LATIN, random);
  const syllables = isRightToLeft ? SYLLABLES_RIGHT_TO_LEFT : SYLLABLES;
  return Array.from({ length: between(2, 4, random) }, () => pick(syllables, random)).join('');
}

function sentence(style: Style, random: Random): Word[] {
  const words = Array.from({ length: between(4, 14, random) }, () => newWord(style, random));
  const last = words.length - 1;
  words[last] = `${words[last]}${pick(['.', '.', '.', '?', '”.'], random)}`;
  return words.map((text) => ({ text, isQuoted: false }));
}

/** A paragraph, or the row of a table. Sentences of a form letter recur in many places. */
function newBlock(style: Style, random: Random, boilerplate: readonly Word[][]): Block {
  if (style === 'table')
    return ['row', `${between(1, 40, random)}`, newWord(style, random), `${between(1, 20, random)}0 EUR`].map(
      (text) => ({ text, isQuoted: false }),
    );
  const sentences = Array.from({ length: between(1, 5, random) }, () =>
    random() < 0.15 ? pick(boilerplate, random).map((word) => ({ ...word })) : sentence(style, random),
  );
  if (style === 'markdown' && random() < 0.3)
    sentences.unshift([{ text: pick(['-', '##', '1.'], random), isQuoted: false }]);
  return sentences.flat();
}

const LIGATURES: Readonly<Record<string, string>> = { ffi: 'ﬃ', fi: 'ﬁ', ff: 'ﬀ', fl: 'ﬂ', لا: 'ﻻ' };

function written(word: string, { ligatures, quotes, divides }: Layout, random: Random): string {
  let text = quotes ? word.replace('”', '"') : word;
  if (ligatures)
    for (const [plain, joined] of Object.entries(LIGATURES)) text = text.replaceAll(plain, joined);
  if (divides && /^[a-z]{8,}$/.test(text) && random() < 0.3) text = `${text.slice(0, 4)}-\n${text.slice(4)}`;
  else if (divides && text.length > 6 && random() < 0.1) text = `${text.slice(0, 3)}\u00ad${text.slice(3)}`;
  return text;
}

interface Written {
  text: string;
  /** The ranges of UTF-16 units that are right: the passage, without and with what was put in beside it. */
  ranges: { start: number; end: number }[];
}

function write(blocks: readonly Block[], style: Style, layout: Layout, random: Random): Written {
  let text = '';
  let column = 0;
  const narrow = { start: -1, end: -1 };
  const wide = { start: -1, end: -1 };
  for (const block of blocks) {
    if (text !== '') text += style === 'table' ? '\n' : style === 'pdf' && random() < 0.1 ? '\n\f\n' : '\n\n';
    column = 0;
    for (const [index, { text: word, isQuoted, isBeside }] of block.entries()) {
      const shown = written(word, layout, random);
      const wraps = column + shown.length > layout.width;
      if (index > 0) text += style === 'table' ? '\t' : wraps ? '\n' : layout.space;
      column = wraps ? 0 : column + shown.length + 1;
      const start = text.length;
      text += shown;
      for (const [range, isIn] of [
        [narrow, isQuoted && !isBeside],
        [wide, isQuoted],
      ] as const) {
        if (!isIn) continue;
        if (range.start < 0) range.start = start;
        range.end = text.length;
      }
    }
  }
  return { text, ranges: [narrow, wide].filter(({ start }) => start >= 0) };
}

interface Draft {
  blocks: Block[];
  style: Style;
  layout: Layout;
  /** The words of the passage as it was quoted. */
  quoted: string;
}

const quotedBlock = ({ blocks }: Draft) =>
  blocks.findIndex((block) => block.some(({ isQuoted }) => isQuoted));
/** Copies words. Those of the passage are marked as a copy of it. */
function copied(words: readonly Word[], random: Random): Block {
  const copy = random();
  return words.map(({ text, isQuoted, isBeside }) => ({
    text,
    isQuoted: false,
    ...(isQuoted && !isBeside && { copy }),
  }));
}
const anyPlace = ({ blocks }: Draft, random: Random) => between(0, blocks.length, random);

/** The blocks that a place may be chosen in without touching the passage. */
function otherBlock(draft: Draft, random: Random): Block | undefined {
  const others = draft.blocks.filter((block) => !block.some(({ isQuoted }) => isQuoted));
  return others.length === 0 ? undefined : pick(others, random);
}

/** What happens to texts. Each changes a draft in place. */
const REVISIONS: Readonly<Record<string, (draft: Draft, random: Random) => void>> = {
  moved(draft, random) {
    const [block] = draft.blocks.splice(quotedBlock(draft), 1);
    if (block) draft.blocks.splice(anyPlace(draft, random), 0, block);
  },
  reflowed(draft, random) {
    draft.layout = newLayout(draft.style, random);
  },
  extended(draft, random) {
    draft.blocks.splice(
      anyPlace(draft, random),
      0,
      newBlock(draft.style, random, [sentence(draft.style, random)]),
    );
  },
  shortened(draft, random) {
    const block = otherBlock(draft, random);
    if (block && draft.blocks.length > 3) draft.blocks.splice(draft.blocks.indexOf(block), 1);
  },
  edited_near(draft, random) {
    const block = draft.blocks[quotedBlock(draft)];
    if (!block) return;
    const first = block.findIndex(({ isQuoted }) => isQuoted);
    const last = block.findLastIndex(({ isQuoted }) => isQuoted);
    const isBefore = random() < 0.5;
    const at = isBefore ? first - between(1, 4, random) : last + between(1, 4, random);
    const word = { text: newWord(draft.style, random), isQuoted: false };
    const isBeside = at === (isBefore ? first - 1 : last + 1);
    if (random() < 0.5 && block[at]) block.splice(at, 1, word);
    else if (at >= 0 && at <= block.length && !isBeside) block.splice(at, 0, word);
    else if (isBeside)
      block.splice(isBefore ? first : last + 1, 0, { ...word, isQuoted: true, isBeside: true });
  },
  edited_within(draft, random) {
    const block = draft.blocks[quotedBlock(draft)];
    if (!block) return;
    const first = block.findIndex(({ isQuoted }) => isQuoted);
    const last = block.findLastIndex(({ isQuoted }) => isQuoted);
    const at = between(first, last, random);
    const word = { text: newWord(draft.style, random), isQuoted: true };
    if (random() < 0.7) block.splice(at, 1, { ...word, ...(block[at]?.isBeside && { isBeside: true }) });
    else if (at > first)
      block.splice(at, 0, {
        ...word,
        ...((block[at - 1]?.isBeside || block[at]?.isBeside) && { isBeside: true }),
      });
    else if (last > first) block.splice(at, 1);
  },
  edited_elsewhere(draft, random) {
    const block = otherBlock(draft, random);
    if (block)
      block[between(0, block.length - 1, random)] = { text: newWord(draft.style, random), isQuoted: false };
  },
  copied_with_its_paragraph(draft, random) {
    const block = draft.blocks[quotedBlock(draft)];
    if (block) draft.blocks.splice(anyPlace(draft, random), 0, copied(block, random));
  },
  copied_alone(draft, random) {
    const words = draft.blocks[quotedBlock(draft)]?.filter(({ isQuoted }) => isQuoted) ?? [];
    const into = otherBlock(draft, random);
    into?.splice(between(0, into.length, random), 0, ...copied(words, random));
  },
  copied_with_some_words(draft, random) {
    const block = draft.blocks[quotedBlock(draft)];
    const into = otherBlock(draft, random);
    if (!block || !into) return;
    const first = block.findIndex(({ isQuoted }) => isQuoted);
    const last = block.findLastIndex(({ isQuoted }) => isQuoted);
    const words = block.slice(Math.max(0, first - between(0, 3, random)), last + 1 + between(0, 9, random));
    into.splice(between(0, into.length, random), 0, ...copied(words, random));
  },
  /** Where one whole copy is left, the passage was moved there. */
  deleted(draft) {
    draft.blocks.splice(quotedBlock(draft), 1);
    const copies = Map.groupBy(draft.blocks.flat(), ({ copy }) => copy);
    copies.delete(undefined);
    const [whole, ...others] = [...copies.values()].filter(
      (words) => words.map(({ text }) => text).join(' ') === draft.quoted,
    );
    if (whole && others.length === 0) for (const word of whole) word.isQuoted = true;
  },
};
const REVISION_NAMES = Object.keys(REVISIONS);
/** What happens often and what seldom. A passage that was deleted stays so. */
const USUAL = REVISION_NAMES.filter((name) => name !== 'deleted');

function newLayout(style: Style, random: Random): Layout {
  return {
    width: style === 'page' ? 100_000 : between(40, 100, random),
    divides: style === 'pdf' && random() < 0.5,
    ligatures: (style === 'pdf' || style === 'rtl') && random() < 0.5,
    space: random() < 0.15 ? '\u00a0' : style === 'rtl' && random() < 0.3 ? '\u200f ' : ' ',
    quotes: random() < 0.5,
  };
}

function newDraft(random: Random): Draft {
  const style = pick(STYLES, random);
  const boilerplate = [1, 2, 3].map(() => sentence(style, random));
  const blocks = Array.from({ length: between(6, 40, random) }, () => newBlock(style, random, boilerplate));
  const block = pick(blocks, random);
  const kind = random();
  // A whole paragraph or row, or a part of it.
  const first = kind < 0.2 ? 0 : between(0, block.length - 1, random);
  const last = kind < 0.2 ? block.length - 1 : Math.min(block.length - 1, first + between(0, 12, random));
  for (let at = first; at <= last; at += 1) (block[at] as Word).isQuoted = true;
  const quoted = block.slice(first, last + 1).map(({ text }) => text);
  return { blocks, style, layout: newLayout(style, random), quoted: quoted.join(' ') };
}

function quoted({ text, ranges: [range] }: Written): Passage {
  const { start, end } = range as { start: number; end: number };
  const points = (until: number) => Array.from(text.slice(0, until)).length;
  const claim = {
    exact: text.slice(start, end),
    prefix: '',
    suffix: '',
    start: points(start),
    end: points(end),
  };
  const located = locatePassage(text, claim, false);
  if (!located) throw new Error('The passage is not at its own position.');
  const { words_once, context_once, ...passage } = located;
  const digest = createHash('sha256').update(text).digest('hex');
  const derived = { tool: 'test', version: '1', text: digest, words_once, context_once };
  return { sha256: null, ...passage, derived };
}

/** What became of a passage in a revision. */
interface Outcome {
  seed: number;
  /** The number of the revision, what was done last, and whether more was done to the text before. */
  step: number;
  last: string;
  isFirst: boolean;
  outcome: 'found' | 'not found' | 'rightly not found' | 'wrong';
  detail?: string;
}

/** Quotes a passage of the text of a seed, revises the text, and looks for the passage in each revision. */
function* reviseText(seed: number, revisions: number): Generator<Outcome> {
  const random = seededRandom(seed);
  const original = newDraft(random);
  const passage = quoted(write(original.blocks, original.style, original.layout, random));
  let draft = original;
  for (let step = 1; step <= revisions; step += 1) {
    // Some revisions build on the last one, and every fifth begins again with the text as it was quoted.
    draft = structuredClone(step % 5 === 1 ? original : draft);
    const last = step % 5 === 0 && random() < 0.3 ? 'deleted' : pick(USUAL, random);
    REVISIONS[last]?.(draft, random);
    const revised = write(draft.blocks, draft.style, draft.layout, random);
    const anchoring = anchorPassage(revised.text, passage);
    const outcome = judge(revised, anchoring, passage);
    const detail = `${JSON.stringify(passage)} → ${JSON.stringify(anchoring)}`;
    yield { seed, step, last, isFirst: step % 5 === 1, outcome, ...(outcome === 'wrong' && { detail }) };
  }
}

/** What became of the passages of many texts. */
export interface Tally {
  wrong: Outcome[];
  /** The share that was found of those that are still there: after each revision of a fresh text, and after several. */
  found: Record<string, number>;
}

/** Quotes a passage in each of so many texts and looks for it in 20 revisions of each. */
export function tallyOf(texts: number): Tally {
  const outcomes = Array.from({ length: texts }, (_, index) => [...reviseText(index + 1, 20)]).flat();
  const there = outcomes.filter(({ outcome }) => outcome === 'found' || outcome === 'not found');
  const shares = [...Map.groupBy(there, ({ isFirst, last }) => (isFirst ? last : 'several'))].map(
    ([name, all]): [string, number] => [
      name,
      Math.round((100 * all.filter(({ outcome }) => outcome === 'found').length) / all.length),
    ],
  );
  return { wrong: outcomes.filter(({ outcome }) => outcome === 'wrong'), found: Object.fromEntries(shares) };
}

function judge({ text, ranges }: Written, anchoring: Anchoring, passage: Passage): Outcome['outcome'] {
  if (typeof anchoring !== 'object') return ranges.length === 0 ? 'rightly not found' : 'not found';
  const units = (points: number) => Array.from(text).slice(0, points).join('').length;
  const [start, end] = [units(anchoring.start), units(anchoring.end)];
  const isRight =
    ranges.some((range) => range.start === start && range.end === end) ||
    // Words put in beside the passage may be on one of its sides only.
    (ranges.length === 2 &&
      ranges.some((range) => range.start === start) &&
      ranges.some((range) => range.end === end));
  return isRight || isOnlyPlace(text, start, end, passage) ? 'found' : 'wrong';
}

/**
 * A place is right if it is the only one with the words and their whole context, even if it is a copy. It is also right if it is
 * the only place between the whole context, even if other words stand there now.
 */
function isOnlyPlace(text: string, start: number, end: number, { exact, prefix, suffix }: Passage): boolean {
  const [before, words, after] = [plain(prefix).slice(1), plain(exact), plain(suffix).slice(0, -1)];
  const all = plain(text);
  const [from, to] = [plain(text.slice(0, start)).length, plain(text.slice(0, end)).length];
  const isWithin = all.slice(0, from).endsWith(before) && all.slice(to).startsWith(after);
  const isOnlyOne = (part: string) => all.split(part).length === 2;
  const room = 2 * words.length + after.length + 32;
  const followed = all.split(before).slice(1);
  const isOnlyContext = followed.filter((rest) => rest.slice(0, room).includes(after)).length === 1;
  return isWithin && (isOnlyContext || (all.slice(from, to) === words && isOnlyOne(before + words + after)));
}

function plain(part: string): string {
  return part
    .normalize('NFKC')
    .replace(/[-\u00ad\u200f\s]+/g, '')
    .replaceAll('”', '"');
}
