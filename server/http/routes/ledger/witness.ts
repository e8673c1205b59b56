import { MAX_WITNESS_REQUEST_BYTES } from '../../../../shared/limits.ts';
import { Problem } from '../../../../shared/problems.ts';
import type { Checkpoints } from '../../../ledger/checkpoints.ts';
import { addCheckpoint } from '../../../ledger/witness/addCheckpoint.ts';
import {
  addWitnessedLog,
  endWitnessing,
  listWitnessedLogs,
  listWitnessRefusals,
} from '../../../ledger/witness/logs.ts';
import type { Witnesses } from '../../../ledger/witness/witnesses.ts';
import type { Store } from '../../../store/store.ts';
import type { Handlers } from '../../app.ts';
import { checkedBodyChunks } from '../../body/requestBody.ts';
import { created, noContent, ok, page, plainText } from '../../reply.ts';

type WitnessRoutes =
  | 'addCheckpoint'
  | 'readWitnessKey'
  | 'readWitnesses'
  | 'submitToWitnesses'
  | 'listWitnessedLogs'
  | 'addWitnessedLog'
  | 'removeWitnessedLog'
  | 'listWitnessRefusals';

/** Handlers for the witnesses of this node, and for this node as a witness. */
export function witnessHandlers(
  store: Store,
  checkpoints: Checkpoints,
  witnesses: Witnesses,
): Pick<Handlers, WitnessRoutes> {
  return {
    addCheckpoint: async ({ request }) => {
      const pieces: Buffer[] = [];
      const tooLarge = () => new Problem('body_too_large', `At most ${MAX_WITNESS_REQUEST_BYTES} bytes.`);
      for await (const piece of checkedBodyChunks(request, MAX_WITNESS_REQUEST_BYTES, tooLarge))
        pieces.push(piece);
      const answer = await addCheckpoint(store, checkpoints.cosigner, Buffer.concat(pieces).toString('utf8'));
      if ('cosignature' in answer) return plainText(answer.cosignature);
      return {
        write: (response) => {
          response.status(409).set('Cache-Control', 'no-store');
          // Express would add a charset.
          response.setHeader('Content-Type', 'text/x.tlog.size');
          response.end(`${answer.conflict}\n`);
        },
      };
    },
    readWitnessKey: () => plainText(`${checkpoints.cosigner.verifierKey}\n`),
    readWitnesses: () => ok(witnesses.states()),
    submitToWitnesses: async () => ok(await witnesses.submitNow()),
    listWitnessedLogs: ({ query, request }) => {
      const all = listWitnessedLogs(store);
      const { offset, limit } = query;
      return page(request, query, { items: all.slice(offset, offset + limit), total: all.length });
    },
    addWitnessedLog: async ({ body }) => {
      const log = await addWitnessedLog(store, body.key);
      return created(log, `/manage/witness/logs/${log.origin}`);
    },
    removeWitnessedLog: async ({ params }) => {
      await endWitnessing(store, params.origin ?? '');
      return noContent;
    },
    listWitnessRefusals: ({ query, request }) => page(request, query, listWitnessRefusals(store, query)),
  };
}
