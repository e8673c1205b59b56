import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { writeDump } from '../../dump/writeDump.ts';
import type { NodeKey } from '../../ledger/checkpoint.ts';
import type { Store } from '../../store/store.ts';
import type { Handlers } from '../app.ts';

export function dumpHandlers(store: Store, key: NodeKey): Pick<Handlers, 'readDump'> {
  return {
    readDump: () => ({
      write: async (response) => {
        response
          .status(200)
          .set({ 'Content-Type': 'application/x-ndjson; charset=utf-8', 'Cache-Control': 'no-store' });
        response.set('Content-Disposition', 'attachment; filename="dump.jsonl"');
        if (response.req.method === 'HEAD') return void response.end();
        // A reader who goes away ends the iteration, and with it the snapshot.
        await pipeline(Readable.from(writeDump(store, key)), response).catch((error: unknown) => {
          if (!response.closed) throw error;
        });
      },
    }),
  };
}
