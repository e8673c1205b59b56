import type { z } from 'zod';
import { UnknownAlgorithmError } from '../../shared/proof/algorithms.ts';
import { TimestampError, verifyTimestamp } from '../../shared/proof/verifyTimestamp.ts';
import { nodeCrypto } from '../ledger/nodeCrypto.ts';
import { parseCheckpointRequest } from '../ledger/witness/checkpointRequest.ts';
import { findCosignature, noteBody, parseCosignerKey } from '../ledger/witness/cosignature.ts';
import { type DumpedArchive, requireThat } from './dumpedArchive.ts';
import { kind, type LineKind } from './lineKind.ts';
import * as lines from './lineSchemas.ts';

/**
 * What authorities and witnesses say of this ledger. These lines precede the entries, so that the root of the ledger at
 * each of their sizes is compared while the entries are read.
 */
export const OWN_PROOF_KINDS: Record<string, LineKind> = {
  timestamp: kind(lines.timestampLine, ({ id }) => id, checkTimestamp),
  cosignature: kind(
    lines.cosignatureLine,
    ({ witness, size }) => `${Buffer.from(witness).toString('hex')} ${String(size).padStart(16, '0')}`,
    checkCosignature,
  ),
};

/** What this node cosigned as a witness, and what it refused to. The signatures in it are by the keys of those logs. */
export const WITNESS_KINDS: Record<string, LineKind> = {
  witnessed_log: kind(
    lines.witnessedLogLine,
    ({ origin }) => Buffer.from(origin).toString('hex'),
    (_archive, { origin, size, root, note }, line) => {
      if (note === null) return requireThat(size === 0 && root === null, 'its checkpoint is missing.', line);
      requireThat(
        root !== null && noteBody(note).startsWith(bodyStart({ origin, size, root })),
        'its checkpoint is of another log, size or root.',
        line,
      );
    },
  ),
  witness_refusal: kind(
    lines.witnessRefusalLine,
    ({ id }) => id,
    (_archive, { origin, size, body, request }, line) => {
      const refused = parseCheckpointRequest(request);
      requireThat(
        refused.origin === origin && noteBody(refused.note) === body && body.split('\n')[1] === String(size),
        'its request is of another checkpoint.',
        line,
      );
    },
  ),
};

/** The lines with which a checkpoint begins. `root` is in hex. */
function bodyStart({ origin, size, root }: { origin: string; size: number; root: string }): string {
  return `${origin}\n${size}\n${Buffer.from(root, 'hex').toString('base64')}\n`;
}

function checkTimestamp(
  { ledger }: DumpedArchive,
  { size, root, text, reply, at, serial }: z.output<typeof lines.timestampLine>,
  line: number,
): void {
  const origin = text.slice(0, text.indexOf('\n'));
  requireThat(
    text.startsWith(bodyStart({ origin, size, root })),
    'its text is of another size or root.',
    line,
  );
  ledger.expectRoot(size, root, line);
  try {
    const verified = verifyTimestamp(Buffer.from(reply, 'hex'), Buffer.from(text), nodeCrypto);
    const isSame = verified.at === Date.parse(at) && verified.serial === serial;
    requireThat(isSame, 'its time or its number is not that of the reply.', line);
  } catch (error) {
    if (!(error instanceof TimestampError) && !(error instanceof UnknownAlgorithmError)) throw error;
    requireThat(false, `the timestamp does not hold: ${error.message}`, line);
  }
}

function checkCosignature(
  { ledger }: DumpedArchive,
  cosignature: z.output<typeof lines.cosignatureLine>,
  line: number,
): void {
  const { witness, size, root, line: signature } = cosignature;
  ledger.expectRoot(size, root, line);
  const key = parseCosignerKey(witness);
  const found = key && findCosignature(signature, bodyStart(cosignature), key);
  requireThat(found?.line === signature, 'the line of the witness does not hold.', line);
}
