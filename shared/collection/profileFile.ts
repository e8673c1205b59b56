import type { NewProfile } from './profile.ts';

type Content = Pick<NewProfile, 'netscape' | 'storage_state' | 'cookies'>;

/** Tells a cookie file from the storage state of Playwright, and from a list of cookies. @throws Error if it is JSON of another kind */
export function profileContentOf(text: string): Content {
  const trimmed = text.trim();
  if (!/^[[{]/.test(trimmed)) return { netscape: text };
  let json: unknown;
  try {
    json = JSON.parse(trimmed);
  } catch (cause) {
    throw new Error('This begins like JSON, but is not. Was the whole file pasted?', { cause });
  }
  if (Array.isArray(json)) return { cookies: json as NonNullable<Content['cookies']> };
  return { storage_state: json as NonNullable<Content['storage_state']> };
}
