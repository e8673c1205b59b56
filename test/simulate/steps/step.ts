import type { Dice } from '../dice.ts';
import { newMarker } from '../markers.ts';
import type { World } from '../world.ts';

/** One kind of step. It updates the model as soon as something is acknowledged, because the node may be killed then. */
export interface StepKind {
  /** How often it is chosen, compared with the others. */
  weight: number;
  /** Whether there is what it needs. */
  can?: (world: World) => boolean;
  /** Whether the node may be killed, or its disk fail, within it: it does everything by requests to the node. */
  isPlain?: boolean;
  /** Returns what was done, for the list of steps. */
  run(world: World, dice: Dice): Promise<string>;
}

/** Bytes with a marker of their own. */
export interface Content {
  bytes: Buffer;
  marker: string;
}

/** A text with a marker, of a few words or of up to so many bytes. */
export function newText(dice: Dice, atMost = 400): Content {
  const marker = newMarker(dice);
  const words = Array.from({ length: dice.between(2, 12) }, () => dice.letters(dice.between(3, 9)));
  words.splice(dice.int(words.length), 0, marker);
  const text = `${words.join(' ')}\n`;
  return {
    bytes: Buffer.from(text.padEnd(dice.between(text.length, Math.max(text.length, atMost)), '.\n')),
    marker,
  };
}

/** A page with a marker in its text. */
export function newPage(dice: Dice, title = dice.letters(8)): Content {
  const { bytes, marker } = newText(dice);
  const html = `<!doctype html><html><head><title>${title}</title></head><body><h1>${title}</h1><p>${bytes.toString().trim()}</p></body></html>`;
  return { bytes: Buffer.from(html), marker };
}
