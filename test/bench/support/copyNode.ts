import { randomBytes } from 'node:crypto';
import { pathToFileURL } from 'node:url';
import { packForm, sampleRecord } from '../../support/archive/packs.ts';
import type { StoreAddress } from '../../support/network/objectStore.ts';
import type { OwnerNode } from './ownerNode.ts';

/** Requests something as the owner and returns the JSON of the answer. */
export async function ask<Result>(
  { url, headers }: OwnerNode,
  method: string,
  path: string,
  body?: object,
): Promise<Result> {
  const json = body && {
    body: JSON.stringify(body),
    headers: { ...headers, 'Content-Type': 'application/json' },
  };
  const answer = await fetch(url + path, { method, headers, ...json });
  if (!answer.ok) throw new Error(`${method} ${path} was refused: ${await answer.text()}`);
  return (await answer.json()) as Result;
}

/** Uploads packs with files of random bytes, 100 in each. */
export async function fillObjects(
  node: OwnerNode,
  { objects, bytes }: { objects: number; bytes: number },
): Promise<void> {
  const perPack = Math.min(100, objects);
  for (let pack = 0; pack < objects / perPack; pack += 1) {
    const files = Object.fromEntries(
      Array.from({ length: perPack }, (_, index) => [`${index}.bin`, new Uint8Array(randomBytes(bytes))]),
    );
    const body = packForm(sampleRecord({ title: `Pack ${pack}` }), files);
    const answer = await fetch(`${node.url}/api/packs`, { method: 'POST', body, headers: node.headers });
    if (answer.status !== 201) throw new Error(`The pack was refused: ${await answer.text()}`);
  }
}

/** Adds a copy in a folder, or in a bucket of a store. Returns its id. */
export async function addCopy(node: OwnerNode, place: string, store?: StoreAddress): Promise<string> {
  const target = store ? `s3://${place}` : pathToFileURL(place).href;
  const { endpoint, region, access_key, secret_key } = store ?? {};
  const added = { target, ...(store && { endpoint, region, access_key, secret_key }) };
  return (await ask<{ id: string }>(node, 'POST', '/manage/copies', added)).id;
}

export function syncCopy(node: OwnerNode, id: string): Promise<{ objects: number }> {
  return ask(node, 'POST', `/manage/copies/${id}/sync?wait=true`);
}
