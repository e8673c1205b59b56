import { expect } from 'vitest';
import type { HandIn } from '../../shared/collection/handedIn.ts';
import type { TestNode } from '../support/node.ts';
import { PIXEL } from '../support/savedPages.ts';

export const HANDED_IN_FROM = 'http://elsewhere.example/page';
/** What is handed in with this is shown to visitors. */
export const SHOWN = { withheld: 'false' };

/** A picture with a word. */
export const pictureWith = (word: string): Buffer => Buffer.concat([PIXEL, Buffer.from(word)]);

/** Hands in a file as the extension does, with a picture of what was visible, to be shown to visitors. */
export async function handInWithPicture(node: TestNode, file: Buffer, picture: Buffer): Promise<HandIn> {
  const form = new FormData();
  for (const [name, value] of Object.entries({ url: HANDED_IN_FROM, ...SHOWN })) form.set(name, value);
  form.set('file', new Blob([new Uint8Array(file)], { type: 'multipart/related' }), 'page.mhtml');
  form.set('picture', new Blob([new Uint8Array(picture)], { type: 'image/png' }), 'page.png');
  const answer = await node.fetchAsOwner('/manage/handed-in', { method: 'POST', body: form });
  expect(answer.status, await answer.clone().text()).toBe(201);
  return (await answer.json()) as HandIn;
}
