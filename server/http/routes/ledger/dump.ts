import { writeDump } from '../../../dump/writeDump.ts';
import type { Checkpoints } from '../../../ledger/checkpoints.ts';
import type { Store } from '../../../store/store.ts';
import type { Handlers } from '../../app.ts';
import type { Exports } from '../../delivery/exports.ts';
import { attachmentHeaders } from '../../delivery/streamReply.ts';

export function dumpHandlers(
  store: Store,
  checkpoints: Checkpoints,
  exports: Exports,
): Pick<Handlers, 'readDump'> {
  const headers = attachmentHeaders('application/x-ndjson; charset=utf-8', 'dump.jsonl');
  return { readDump: () => exports.streamReply(headers, () => writeDump(store, checkpoints)) };
}
