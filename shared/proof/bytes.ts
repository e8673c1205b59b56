/** Bytes as text and back, without Node's Buffer: this also runs in evidence files. */

export function utf8(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

/** Decodes base64. @throws RangeError if it is not base64 */
export function fromBase64(text: string): Uint8Array {
  let binary: string;
  try {
    binary = atob(text);
  } catch (cause) {
    throw new RangeError('This is not base64.', { cause });
  }
  return Uint8Array.from(binary, (character) => character.charCodeAt(0));
}

export function concat(...pieces: readonly Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(pieces.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const piece of pieces) {
    whole.set(piece, at);
    at += piece.length;
  }
  return whole;
}
