import { seededRandom } from '../support/seededRandom.ts';

const LETTERS = 'abcdefghijklmnopqrstuvwxyz';
const SEEDS = 2 ** 31;

/** Draws everything that is chosen at random, from a seed. */
export class Dice {
  readonly #random: () => number;

  constructor(seed: number) {
    this.#random = seededRandom(seed);
  }

  /** A number from 0 to `below` - 1. */
  int(below: number): number {
    return Math.floor(this.#random() * below);
  }

  between(least: number, most: number): number {
    return least + this.int(most - least + 1);
  }

  chance(share: number): boolean {
    return this.#random() < share;
  }

  seed(): number {
    return this.int(SEEDS);
  }

  /** One of a list; undefined if it is empty. */
  pick<Item>(list: readonly Item[]): Item | undefined {
    return list[this.int(list.length)];
  }

  /** One of a list that is not empty. */
  one<Item>(list: readonly Item[]): Item {
    const item = this.pick(list);
    if (item === undefined) throw new Error('There is nothing to choose from.');
    return item;
  }

  /** Up to this many of a list, each once. */
  some<Item>(list: readonly Item[], count: number): Item[] {
    const left = [...list];
    const chosen: Item[] = [];
    while (left.length > 0 && chosen.length < count) chosen.push(...left.splice(this.int(left.length), 1));
    return chosen;
  }

  letters(count: number): string {
    return Array.from({ length: count }, () => LETTERS[this.int(LETTERS.length)]).join('');
  }

  bytes(count: number): Buffer {
    return Buffer.from(Array.from({ length: count }, () => this.int(256)));
  }
}
