import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { Request } from 'express';
import { MAX_WITNESS_REQUEST_BYTES } from '../../../shared/limits.ts';
import { Problem } from '../../../shared/problems.ts';
import type { Evidence } from '../../../shared/proof/evidence/evidence.ts';
import { evidenceHtml, evidencePolicy } from '../../../shared/proof/evidence/evidencePage.ts';
import { requirePack } from '../../archive/packs/readPack.ts';
import {
  eventEvidence,
  type FindingEvidenceServices,
  findingEvidence,
  packEvidence,
  requireEvent,
  requireQuotation,
} from '../../evidence/collectEvidence.ts';
import { readEvidenceParts } from '../../evidence/evidenceParts.ts';
import { listEntryTitles, readLedger } from '../../ledger/appendEntry.ts';
import { nodeCrypto } from '../../ledger/checkpoint.ts';
import type { Checkpoints } from '../../ledger/checkpoints.ts';
import { listKeyChanges } from '../../ledger/nodeKey.ts';
import {
  proveConsistency,
  proveInclusion,
  proveInclusionAsFile,
  readCheckpoint,
} from '../../ledger/prove.ts';
import { listTimestamps, readTimestamp, type Timestamps } from '../../ledger/timestamps/timestamps.ts';
import { parseTilePath, readTile } from '../../ledger/tree.ts';
import {
  addCheckpoint,
  addWitnessedLog,
  endWitnessing,
  listWitnessedLogs,
  listWitnessRefusals,
  type Witnesses,
} from '../../ledger/witness/witnessing.ts';
import type { Store } from '../../store/store.ts';
import { verifyLedgerForReader } from '../../verification/ledger/ledgerVerification.ts';
import type { Handlers } from '../app.ts';
import { checkedBodyChunks } from '../body/requestBody.ts';
import { attachmentHeaders, streamReply } from '../delivery/exports.ts';
import {
  created,
  nextPath,
  noContentAfter,
  ok,
  page,
  pageOfAll,
  plainText,
  type WrittenReply,
} from '../reply.ts';

export function ledgerHandlers(store: Store, checkpoints: Checkpoints) {
  return {
    readLedger: ({ query, request }) => {
      const { items, head } = readLedger(store, query);
      const last = items.at(-1)?.seq;
      const next = last !== undefined && last < head.seq ? nextPath(request, 'from', last + 1) : null;
      return ok({ items, total: head.seq, limit: query.limit, from: query.from, next, head });
    },
    listEntryTitles: ({ query }) => ok({ items: listEntryTitles(store, query) }),
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
  } satisfies Partial<Handlers>;
}

/** A tile that once was there never changes. */
const FOR_EVER = { 'Cache-Control': 'public, max-age=31536000, immutable' };

/** The ledger as a static log (C2SP tlog-tiles). */
export function tileHandlers(store: Store, checkpoints: Checkpoints) {
  return {
    readLogCheckpoint: async () =>
      plainText(await readCheckpoint(store, checkpoints), { 'Cache-Control': 'no-cache' }),
    readTile: ({ params: { tile = '' }, request }) => {
      const address = parseTilePath(tile);
      const bytes = readTile(store, address);
      return {
        write: async (response) => {
          response.set(FOR_EVER).type('application/octet-stream');
          // Hashes cannot be compressed; entries take less than half the room.
          if (address.level !== 'entries') return void response.send(bytes);
          response.vary('Accept-Encoding');
          if (request.acceptsEncodings('gzip', 'identity') !== 'gzip') return void response.send(bytes);
          response.set('Content-Encoding', 'gzip').send(await promisify(gzip)(bytes));
        },
      };
    },
  } satisfies Partial<Handlers>;
}

/** Handlers for the witnesses of this node, and for this node as a witness. */
export function witnessHandlers(store: Store, checkpoints: Checkpoints, witnesses: Witnesses) {
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
    listWitnessedLogs: ({ query, request }) => pageOfAll(request, query, listWitnessedLogs(store)),
    addWitnessedLog: async ({ body }) => {
      const log = await addWitnessedLog(store, body.key);
      return created(log, `/manage/witness/logs/${log.origin}`);
    },
    removeWitnessedLog: ({ params }) => noContentAfter(endWitnessing(store, params.origin ?? '')),
    listWitnessRefusals: ({ query, request }) => page(request, query, listWitnessRefusals(store, query)),
  } satisfies Partial<Handlers>;
}

/** Handlers for the timestamps of the ledger. */
export function timestampHandlers(store: Store, timestamps: Timestamps) {
  return {
    listTimestamps: ({ query, request }) => page(request, query, listTimestamps(store, query)),
    readTimestamp: ({ params }) => {
      const { id, reply } = readTimestamp(store, params.id ?? '');
      return {
        write: (response) =>
          void response
            .set({ 'Content-Disposition': `attachment; filename="${id}.tsr"`, 'Cache-Control': 'no-cache' })
            .type('application/timestamp-reply')
            .send(reply),
      };
    },
    readTimestampedText: ({ params }) => {
      const { id, text } = readTimestamp(store, params.id ?? '');
      return plainText(text, { 'Content-Disposition': `attachment; filename="${id}.txt"` });
    },
    readAuthorities: () => ok({ authorities: timestamps.authorities() }),
    requestTimestamps: async () => ({ status: 201, json: await timestamps.stampNow() }),
  } satisfies Partial<Handlers>;
}

/** Handlers for evidence files. */
export function evidenceHandlers(services: FindingEvidenceServices, rendererFolder: string) {
  const { store } = services;
  const send = async (
    { request, name, require }: { request: Request; name: string; require: () => void },
    collect: () => Promise<Evidence>,
    headersOf = (_script: string): Record<string, string> => ({}),
  ): Promise<WrittenReply> => {
    const parts = await readEvidenceParts(rendererFolder);
    // Only the headers are sent, so nothing is collected.
    if (request.method === 'HEAD') require();
    const evidence = request.method === 'HEAD' ? undefined : await collect();
    const headers = {
      ...attachmentHeaders('text/html; charset=utf-8', name),
      ...headersOf(parts.script),
    };
    return streamReply(headers, () => (evidence ? evidenceHtml(evidence, parts, nodeCrypto) : []));
  };
  return {
    readEventEvidence: ({ params: { id = '' }, visitor, request }) =>
      send({ request, name: `event-${id}.evidence.html`, require: () => requireEvent(store.read, id) }, () =>
        eventEvidence(services, id, visitor),
      ),
    readPackEvidence: ({ params: { id = '' }, visitor, request }) =>
      send({ request, name: `${id}.evidence.html`, require: () => requirePack(store.read, id) }, () =>
        packEvidence(services, id, visitor),
      ),
    readFindingEvidence: ({ params: { id = '' }, visitor, request }) =>
      send(
        {
          request,
          name: `${id}.evidence.html`,
          require: () => requireQuotation(store.read, id, visitor),
        },
        () => findingEvidence(services, id, visitor),
        // It is opened at the passage. The sandbox gives it an origin of its own, so its script reaches nothing of the node.
        (script) => ({
          'Content-Disposition': `inline; filename="${id}.evidence.html"`,
          'Content-Security-Policy': `${evidencePolicy(script, nodeCrypto)}; sandbox allow-scripts allow-downloads`,
        }),
      ),
  } satisfies Partial<Handlers>;
}
