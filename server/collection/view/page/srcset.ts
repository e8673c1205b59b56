/** A candidate of a `srcset` attribute. */
interface Candidate {
  address: string;
  /** The width in pixels, or a thousand times the density. */
  size: number;
}

/** A wide screen. Larger images are not preferred. */
const ENOUGH = 2_000;

/**
 * Returns the addresses of a `srcset` attribute (HTML Standard, section 4.8.4.2.2), the best one first: the largest that
 * is not larger than a screen, then the smaller ones, then the larger ones.
 */
export function srcsetAddresses(srcset: string): string[] {
  const candidates = parseSrcset(srcset);
  const rank = ({ size }: Candidate) => (size <= ENOUGH ? ENOUGH - size : size);
  return candidates.sort((left, right) => rank(left) - rank(right)).map(({ address }) => address);
}

function parseSrcset(srcset: string): Candidate[] {
  const candidates: Candidate[] = [];
  // An address contains commas but no blank; one that ends with a comma has no descriptor.
  const word = /[^\s,]\S*/g;
  for (let match = word.exec(srcset); match; match = word.exec(srcset)) {
    let end = match[0].length;
    while (match[0][end - 1] === ',') end -= 1;
    const address = match[0].slice(0, end);
    let descriptor = '';
    if (address === match[0]) {
      const comma = srcset.indexOf(',', word.lastIndex);
      const start = word.lastIndex;
      word.lastIndex = comma === -1 ? srcset.length : comma;
      descriptor = srcset.slice(start, word.lastIndex);
    }
    const [, number = '1', unit = 'x'] = /^\s*([\d.]+)([wx])/.exec(descriptor) ?? [];
    const size = Number.parseFloat(number) * (unit === 'w' ? 1 : 1_000);
    candidates.push({ address, size: Number.isFinite(size) ? size : 0 });
  }
  return candidates;
}
