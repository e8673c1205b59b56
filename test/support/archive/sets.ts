import { expect } from 'vitest';
import type { Pack } from '../../../shared/archive/pack.ts';
import type { SetManifest } from '../../../shared/archive/set.ts';
import type { TestNode } from '../node.ts';
import { newDraft, publish, putFile } from './drafts.ts';
import { sampleRecord, sha256Of, uploadNewPack, uploadPack } from './packs.ts';

/** Returns bytes that follow from a number, so that no two files are alike. */
export function contentOf(seed: number, bytes: number): Buffer<ArrayBuffer> {
  const content = Buffer.alloc(bytes);
  for (let index = 0; index < bytes; index += 1)
    content[index] = (index * 31 + (index >> 8) * 7 + seed * 101) & 0xff;
  return content;
}

/** The files of a set for a node whose packs have at most 10,000 bytes: by path, one in three pieces, one empty. */
export function setFiles(): Record<string, Buffer<ArrayBuffer>> {
  return {
    'a/empty.txt': contentOf(0, 0),
    'a/größe 1.csv': contentOf(1, 4_000),
    'b.csv': contentOf(2, 5_000),
    'large.bin': contentOf(3, 25_000),
  };
}

/** Publishes a draft with these files as a set. The node must be opened with `packBytes`. */
export async function publishedSet(
  node: TestNode,
  files = setFiles(),
  record: object = {},
): Promise<{ manifest: Pack; files: Record<string, Buffer<ArrayBuffer>> }> {
  const { id } = await newDraft(node, sampleRecord(record));
  for (const [path, content] of Object.entries(files)) await putFile(node, id, path, content);
  const response = await publish(node, id);
  const body: unknown = await response.json();
  expect({ status: response.status, body }).toMatchObject({ status: 201 });
  return { manifest: body as Pack, files };
}

/** Publishes two packs that do not say they are parts, and returns a manifest over them. */
export async function partsByHand(
  node: TestNode,
  record: object = {},
): Promise<{ manifest: SetManifest; content: Buffer }> {
  const content = contentOf(7, 3_000);
  const [first, second] = [content.subarray(0, 2_000), content.subarray(2_000)];
  const parts: SetManifest['files'][number]['parts'] = [];
  for (const bytes of [first, second]) {
    const pack = await uploadNewPack(
      node,
      { title: `Part ${parts.length}`, ...record },
      { piece: Buffer.from(bytes) },
    );
    parts.push({ pack: pack.id, path: 'piece', bytes: bytes.length, sha256: sha256Of(bytes) });
  }
  const file = { path: 'joined.bin', bytes: 3_000, sha256: sha256Of(content), parts };
  return { manifest: { format: 'strongroom-set@1', files: [file] }, content };
}

export function uploadManifest(node: TestNode, manifest: unknown): Promise<Response> {
  return uploadPack(node, sampleRecord({ title: 'A set' }), { 'set.json': JSON.stringify(manifest) });
}
