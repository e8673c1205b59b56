import type { Response } from 'express';
import { exportFromNode } from '../../../dump/exportFromNode.ts';
import { writeDump } from '../../../dump/writeDump.ts';
import type { Checkpoints } from '../../../ledger/checkpoints.ts';
import type { Store } from '../../../store/store.ts';
import type { Handlers } from '../../app.ts';
import type { Exports } from '../../delivery/exports.ts';
import { attachmentHeaders, streamReply } from '../../delivery/streamReply.ts';

export function dumpHandlers(
  store: Store,
  checkpoints: Checkpoints,
  exports: Exports,
): Pick<Handlers, 'readDump' | 'readArchive'> {
  const headers = attachmentHeaders('application/x-ndjson; charset=utf-8', 'dump.jsonl');
  return {
    readDump: () => exports.streamReply(headers, () => writeDump(store, checkpoints)),
    readArchive: () => exports.limited({ write: (response) => sendArchive(response, store, checkpoints) }),
  };
}

async function sendArchive(response: Response, store: Store, checkpoints: Checkpoints): Promise<void> {
  const headers = attachmentHeaders('application/zip', 'strongroom-archive.zip');
  if (response.req.method === 'HEAD') return streamReply(headers, () => []).write(response);
  const closed = new AbortController();
  response.once('close', () => closed.abort());
  const { blobs, bytes, zip, close } = await exportFromNode(store, checkpoints, closed.signal);
  try {
    const counts = { 'Strongroom-Export': `blobs=${blobs}, bytes=${bytes}` };
    await streamReply({ ...headers, ...counts }, () => zip as AsyncIterable<Buffer>).write(response);
  } finally {
    await close();
  }
}
