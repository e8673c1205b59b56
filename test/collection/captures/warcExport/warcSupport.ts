import { createHash } from 'node:crypto';
import { expect } from 'vitest';
import { WARCParser } from 'warcio';
import type { ManualClock } from '../../../support/manualClock.ts';
import type { ScriptedWeb } from '../../../support/network/scriptedWeb.ts';
import type { TestNode } from '../../../support/node.ts';
import type { CollectingNode } from '../../support.ts';

/** Exports a WARC file from a node. */
export async function exported(from: TestNode, query = ''): Promise<Buffer> {
  const answer = await from.fetch(`/api/warc?${query}`);
  expect(answer.status).toBe(200);
  expect(answer.headers.get('Content-Type')).toBe('application/warc');
  return Buffer.from(await answer.arrayBuffer());
}

/** A record as parsed by warcio. */
export interface ParsedRecord {
  type: string;
  field: (name: string) => string | undefined;
  block: Buffer;
  /** The head of the HTTP message, and the body. */
  head: string;
  payload: Buffer;
}

export async function recordsOf(file: Buffer): Promise<ParsedRecord[]> {
  const found: ParsedRecord[] = [];
  for await (const record of new WARCParser([new Uint8Array(file)], {
    keepHeadersCase: true,
    parseHttp: false,
  })) {
    const block = Buffer.from(await record.readFully(false));
    const end = block.indexOf('\r\n\r\n');
    found.push({
      type: record.warcType ?? '',
      field: (name) => record.warcHeaders.headers.get(name) ?? undefined,
      block,
      head: block.subarray(0, end).toString('latin1'),
      payload: block.subarray(end + 4),
    });
  }
  return found;
}

/** Returns the types of the records, with a comma after the last record of each attempt. */
export function typesOf(records: readonly ParsedRecord[]): string {
  return records
    .map(({ type }) => (type === 'warcinfo' || type === 'metadata' ? `${type},` : type))
    .join(' ')
    .replace(/,$/, '');
}

export function sha256(bytes: Buffer | string): string {
  return `sha256:${createHash('sha256').update(bytes).digest('hex')}`;
}

/** Returns the named fields in the block of a metadata record. */
export function metadataIn(record: ParsedRecord | undefined): Record<string, string> {
  const lines = (record?.block.toString() ?? '').split('\r\n').filter(Boolean);
  return Object.fromEntries(
    lines.map((line) => [line.slice(0, line.indexOf(': ')), line.slice(line.indexOf(': ') + 2)]),
  );
}

/** Watches a path and checks it several times, a minute of the turned clock apart. Returns the source's id. */
export async function checkRepeatedly(
  { node, web, clock }: { node: CollectingNode; web: ScriptedWeb; clock: ManualClock },
  path: string,
  times: number,
  options: object,
): Promise<string> {
  const { id } = await node.watch(web.url(path), { ignore_robots: true, ...options });
  for (let round = 0; round < times; round += 1) {
    await node.check([id]);
    await clock.turn(60_000);
  }
  return id;
}
