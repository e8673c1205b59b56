import { readLedger } from '../../ledger/readLedger.ts';
import type { Store } from '../../store/store.ts';
import { runLedgerVerification } from '../../workers/ledgerVerification.ts';
import type { Handlers } from '../app.ts';
import { nextPath, ok } from '../reply.ts';

export function ledgerHandlers(store: Store): Pick<Handlers, 'readLedger' | 'verifyLedger'> {
  return {
    readLedger: ({ query, request }) => {
      const { items, head } = readLedger(store, query);
      const last = items.at(-1)?.seq;
      const next = last !== undefined && last < head.seq ? nextPath(request, 'from', last + 1) : null;
      return ok({ items, total: head.seq, limit: query.limit, from: query.from, next, head });
    },
    verifyLedger: async () => ok(await runLedgerVerification(store)),
  };
}
