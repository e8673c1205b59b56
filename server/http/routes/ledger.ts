import { Problem } from '../../../shared/problems.ts';
import type { NodeKey } from '../../ledger/checkpoint.ts';
import {
  proveConsistency,
  proveInclusion,
  proveInclusionAsFile,
  readCheckpoint,
} from '../../ledger/prove.ts';
import { readLedger } from '../../ledger/readLedger.ts';
import type { Store } from '../../store/store.ts';
import { verifyLedgerForReader } from '../../workers/ledgerVerification.ts';
import type { Handlers } from '../app.ts';
import { nextPath, ok, plainText } from '../reply.ts';

type LedgerRoutes =
  | 'readLedger'
  | 'verifyLedger'
  | 'readCheckpoint'
  | 'readLedgerKey'
  | 'proveInclusion'
  | 'proveConsistency';

export function ledgerHandlers(store: Store, key: NodeKey): Pick<Handlers, LedgerRoutes> {
  return {
    readLedger: ({ query, request }) => {
      const { items, head } = readLedger(store, query);
      const last = items.at(-1)?.seq;
      const next = last !== undefined && last < head.seq ? nextPath(request, 'from', last + 1) : null;
      return ok({ items, total: head.seq, limit: query.limit, from: query.from, next, head });
    },
    verifyLedger: async () => ok(await verifyLedgerForReader(store)),
    readCheckpoint: () => plainText(readCheckpoint(store, key)),
    readLedgerKey: () => plainText(`${key.verifierKey}\n`),
    proveInclusion: ({ query: { seq, size, format } }) => {
      if (format === undefined || format === 'json') return ok(proveInclusion(store, seq, size));
      if (format !== 'tlog-proof')
        throw new Problem('invalid_format', 'A proof comes as json or as tlog-proof.');
      const name = `entry-${seq}.tlog-proof`;
      return plainText(proveInclusionAsFile(store, key, seq, size), {
        'Content-Disposition': `attachment; filename="${name}"`,
      });
    },
    proveConsistency: ({ query: { from, to } }) => ok(proveConsistency(store, from, to)),
  };
}
