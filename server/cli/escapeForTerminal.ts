/**
 * Escapes text from elsewhere for a terminal: control and format characters, which could move the cursor or change
 * colour or text direction, are written as `\u{…}`.
 */
export function escapeForTerminal(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Zl}\p{Zp}]/gu, (character) => {
    const code = character.codePointAt(0) ?? 0;
    return `\\u{${code.toString(16)}}`;
  });
}
