import { sampleRecord } from '../../support/archive/packs.ts';
import type { OwnerNode } from './ownerNode.ts';

const BOUNDARY = 'strongroom-bench';

/** Returns the body of an upload: a record with this title and one file, as multipart/form-data. */
export function packBody(title: string, content: Uint8Array): Buffer<ArrayBuffer> {
  return Buffer.concat([
    Buffer.from(
      `--${BOUNDARY}\r\nContent-Disposition: form-data; name="record"\r\n\r\n${JSON.stringify(sampleRecord({ title }))}\r\n` +
        `--${BOUNDARY}\r\nContent-Disposition: form-data; name="files"; filename="data.bin"\r\n\r\n`,
    ),
    content,
    Buffer.from(`\r\n--${BOUNDARY}--\r\n`),
  ]);
}

export const PACK_BODY_TYPE = `multipart/form-data; boundary=${BOUNDARY}`;

/** Uploads a pack and requires that it is accepted as new. */
export async function sendPack(
  node: OwnerNode,
  { title, content }: { title: string; content: Uint8Array },
): Promise<void> {
  const answer = await fetch(`${node.url}/api/packs`, {
    method: 'POST',
    body: packBody(title, content),
    headers: { ...node.headers, 'Content-Type': PACK_BODY_TYPE },
  });
  const text = await answer.text();
  if (answer.status !== 201) throw new Error(`The pack was refused: ${text}`);
}
