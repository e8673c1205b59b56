/** The characters of differences that a page shows. */
const MAX_CHARACTERS = 40_000;
/** What the markup of each text counts. */
const MARKUP_CHARACTERS = 10;

/** Limits the characters of the differences on a page. What does not fit is cut. */
export class CharacterLimit {
  #left = MAX_CHARACTERS;
  /** Whether anything was left out. */
  isCut = false;

  /** Returns as much of a text as fits. */
  fit(text: string): string {
    const part = text.slice(0, this.#left).toWellFormed();
    this.#left = Math.max(0, this.#left - part.length - MARKUP_CHARACTERS);
    if (part.length === text.length) return part;
    this.isCut = true;
    return `${part}…`;
  }

  /** Yields the first items of a list, until the limit is reached. */
  *first<Item>(items: readonly Item[], most: number): Generator<Item> {
    for (const [index, item] of items.entries()) {
      if (index === most || this.#left === 0) {
        this.isCut = true;
        return;
      }
      yield item;
    }
  }
}
