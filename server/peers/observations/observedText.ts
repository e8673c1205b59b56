import { blocksOf, type DifferingBlocks, MAX_LISTED_BLOCKS } from '../../../shared/collection/event.ts';
import { MAX_BLOCKS, type ObservedText } from '../../../shared/node/observation.ts';
import { decompressContent, type TextContent } from '../../collection/derived/process/tasks.ts';
import { sha256Of } from '../../ledger/entry.ts';

/** Hex digits of the SHA-256 of a block that name it. */
const BLOCK_DIGITS = 32;

/** A text by its digests, with the names of its blocks; none if it has too many to compare. */
export interface NamedText {
  text: ObservedText;
  names: string[];
}

/** Names a derived text. `content` is the stored document. There is nothing to compare if the text is empty or was cut. */
export function nameText({ content, tool }: { content: Uint8Array; tool: string }): NamedText | undefined {
  const { text, truncated } = decompressContent<TextContent>(content);
  const blocks = blocksOf(text.toWellFormed());
  if (truncated || blocks.length === 0) return undefined;
  const names =
    blocks.length > MAX_BLOCKS ? [] : blocks.map((block) => sha256Of(block).slice(0, BLOCK_DIGITS));
  return {
    text: {
      sha256: sha256Of(text.toWellFormed()),
      tool,
      blocks: blocks.length,
      blocks_sha256: digestOfNames(names),
    },
    names,
  };
}

export function digestOfNames(names: readonly string[]): string {
  return sha256Of(names.map((name) => `${name}\n`).join(''));
}

/** Returns which blocks of two texts differ, wherever they are; null if either has too many to compare. */
export function differingBlocks(ours: NamedText, theirs: NamedText): DifferingBlocks | null {
  const isCounted = ({ text, names }: NamedText) => text.blocks === names.length;
  if (!isCounted(ours) || !isCounted(theirs)) return null;
  const [here, there] = [new Set(ours.names), new Set(theirs.names)];
  const only = ours.names.flatMap((name, index) => (there.has(name) ? [] : [index + 1]));
  return {
    ours: ours.names.length,
    theirs: theirs.names.length,
    only_ours: only.slice(0, MAX_LISTED_BLOCKS),
    only_ours_count: only.length,
    only_theirs_count: theirs.names.filter((name) => !here.has(name)).length,
  };
}
