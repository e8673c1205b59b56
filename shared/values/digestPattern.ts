/** Apart from the schemas, so that commands and threads that need no schema do not load the library for them. */
export const DIGEST_PATTERN = /^[0-9a-f]{64}$/;

/** The digest of no bytes. */
export const EMPTY_DIGEST = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855';

/** Returns whether a text is a SHA-256 digest as 64 lowercase hex digits. */
export function isDigest(text: string): boolean {
  return DIGEST_PATTERN.test(text);
}
