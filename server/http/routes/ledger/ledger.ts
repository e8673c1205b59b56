import { Problem } from '../../../../shared/problems.ts';
import type { Checkpoints } from '../../../ledger/checkpoints.ts';
import { listKeyChanges } from '../../../ledger/keyChanges.ts';
import {
  proveConsistency,
  proveInclusion,
  proveInclusionAsFile,
  readCheckpoint,
} from '../../../ledger/prove.ts';
import { readLedger } from '../../../ledger/readLedger.ts';
import type { Store } from '../../../store/store.ts';
import { verifyLedgerForReader } from '../../../verification/ledger/ledgerVerification.ts';
import type { Handlers } from '../../app.ts';
import { nextPath, ok, page, plainText } from '../../reply.ts';

type LedgerRoutes =
  | 'readLedger'
  | 'verifyLedger'
  | 'readCheckpoint'
  | 'readLedgerKey'
  | 'listKeyChanges'
  | 'proveInclusion'
  | 'proveConsistency';

export function ledgerHandlers(store: Store, checkpoints: Checkpoints): Pick<Handlers, LedgerRoutes> {
  return {
    readLedger: ({ query, request }) => {
      const { items, head } = readLedger(store, query);
      const last = items.at(-1)?.seq;
      const next = last !== undefined && last < head.seq ? nextPath(request, 'from', last + 1) : null;
      return ok({ items, total: head.seq, limit: query.limit, from: query.from, next, head });
    },
    verifyLedger: async () => ok(await verifyLedgerForReader(store)),
    readCheckpoint: async () => plainText(await readCheckpoint(store, checkpoints)),
    readLedgerKey: () => plainText(`${checkpoints.key.verifierKey}\n`),
    listKeyChanges: ({ query, request }) => page(request, query, listKeyChanges(store, query)),
    proveInclusion: async ({ query: { seq, size, format } }) => {
      if (format === undefined || format === 'json') return ok(proveInclusion(store, seq, size));
      if (format !== 'tlog-proof') throw new Problem('invalid_format', 'Set format to json or tlog-proof.');
      const name = `entry-${seq}.tlog-proof`;
      return plainText(await proveInclusionAsFile(store, checkpoints, seq, size), {
        'Content-Disposition': `attachment; filename="${name}"`,
      });
    },
    proveConsistency: ({ query: { from, to } }) => ok(proveConsistency(store, from, to)),
  };
}
