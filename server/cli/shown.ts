/**
 * Text of others as it is safe on a terminal: control and format characters, which could move the cursor, recolour the
 * line or turn its direction, are written as what they are.
 */
export function shown(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Zl}\p{Zp}]/gu, (character) => {
    const code = character.codePointAt(0) ?? 0;
    return `\\u{${code.toString(16)}}`;
  });
}
